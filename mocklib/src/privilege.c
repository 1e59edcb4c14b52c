/* Whether the process may do what needs root: MOCK_NVML_PRIVILEGE=user, or the node's record, says that it may not. */
#include "nvp.h"

static bool as_user;

/* At the first nvmlInit. */
void nvp_privilege_begin(void)
{
    const char *asked = nvp_environment("MOCK_NVML_PRIVILEGE");
    __atomic_store_n(&as_user, asked != NULL && strcmp(asked, "user") == 0, __ATOMIC_RELAXED);
}

bool nvp_unprivileged(void)
{
    uint32_t privilege;
    if (__atomic_load_n(&as_user, __ATOMIC_RELAXED))
        return true;
    NVP_READ_BEGIN(&nvp_node)
        privilege = ((const struct nvp_record *)(const void *)nvp_half)->privilege;
    NVP_READ_END(&nvp_node)
    return privilege == NVP_USER;
}
