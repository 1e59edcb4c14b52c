/* Whether the process may do what needs root: MOCK_NVML_PRIVILEGE=user, or the node's record, says that it may not; root in the
 * variable is the default, and takes nothing of what the record says away. */
#include "nvp.h"

static bool as_user;

/* At the first nvmlInit. */
void nvp_privilege_begin(void)
{
    static const char *const words[] = {"root", "user"};
    const char *asked = nvp_environment("MOCK_NVML_PRIVILEGE");
    if (asked != NULL && strcmp(asked, "user") != 0 && strcmp(asked, "root") != 0) {
        const char *meant = nvp_nearest(asked, strlen(asked), words, 2);
        char fault[64];
        (void)nvp_format(fault, sizeof fault, "is neither user nor root%s%s%s", meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
        nvp_refuse_variable("MOCK_NVML_PRIVILEGE", asked, fault, "callers are what the state says, root where it says nothing");
    }
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
