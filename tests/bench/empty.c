/* The other side of every ratio: functions that do nothing, in a shared library of their own, found with dlsym like any other. */
#include <stdint.h>

int nvparity_empty(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f);
int nvmlInit_v2(void);

int nvparity_empty(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)
{
    return (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, 0;
}

int nvmlInit_v2(void)
{
    return 0;
}
