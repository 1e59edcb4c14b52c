/* NVLink: what its sources share. */
#ifndef NVP_LINKS_H
#define NVP_LINKS_H

#include "nvp.h"

#pragma GCC visibility push(hidden)

nvmlReturn_t nvp_link_in(const struct nvp_device *device, const unsigned char *half, unsigned int number, struct nvp_link *link);
nvmlReturn_t nvp_link(const struct nvp_device *device, unsigned int number, struct nvp_link *link);
unsigned int nvp_links_between(const struct nvp_device *one, const struct nvp_device *other);
nvmlReturn_t nvp_link_bytes(const struct nvp_device *device, unsigned int number, uint64_t at_ns, uint64_t *bytes);
nvmlReturn_t nvp_link_field(const struct nvp_device *device, unsigned int id, unsigned int scope, unsigned int *type, uint64_t *value);

/* A value type that no field id has: the id is not about links. */
#define NVP_NO_TYPE 0xff

#pragma GCC visibility pop

#endif
