"""The two tables everything reads: rows (what each reading is) and layouts (which elements stand where, for exact driver versions)."""
