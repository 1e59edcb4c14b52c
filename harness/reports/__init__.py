"""Reports: what stages found, as JSON and as text.  Consoles and streams are handed in; nothing here opens one."""
