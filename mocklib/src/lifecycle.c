/* Init and shutdown nest; the last shutdown ends every handle.  The device table is made at the first init and belongs to the process. */
#include "nvp.h"

#include <pthread.h>

struct nvp_device nvp_devices[NVP_SLOTS];
struct nvp_device nvp_node;
unsigned int nvp_device_count;
unsigned int nvp_init_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t init_generation;

nvmlDevice_t nvp_handle_of(const struct nvp_device *device)
{
    return (nvmlDevice_t)(uintptr_t)__atomic_load_n(&device->expect, __ATOMIC_RELAXED);
}

static void give_handles(void)
{
    /* 24 bits of init generation: a handle comes back after 16 million inits of one process, not before */
    init_generation = (init_generation + 1) & 0xffffff;
    nvp_devices_begin(init_generation);
}

static void end_handles(void)
{
    nvp_devices_end();
    nvp_event_sets_end();
    nvp_system_event_sets_end();
    nvp_gpm_samples_end();
}

/* What nvmlInit answers on this node: a driver that is not loaded, or one whose library does not match, is data (field system.init_status). */
static nvmlReturn_t init_status(void)
{
    uint64_t status;
    return nvp_number(&nvp_node, NVP_S_system_init_status, &status) == NVML_SUCCESS ? (nvmlReturn_t)status : NVML_SUCCESS;
}

/* A child of fork has one thread; whatever another was doing must not leave the child a mutex that nobody holds. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    nvp_events_before_fork();
    nvp_system_events_before_fork();
    nvp_state_before_fork();
}

static void after_fork(void)
{
    nvp_state_after_fork();
    nvp_system_events_after_fork();
    nvp_events_after_fork();
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    nvp_unanswered_forget();
    after_fork();
}

static nvmlReturn_t first_init(void)
{
    static bool watched;
    if (!watched)
        watched = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    nvp_environment_begin();
    nvmlReturn_t code = nvp_image_ensure();
    if (code != NVML_SUCCESS)
        return code;
    nvp_epoch_begin();
    nvp_privilege_begin();
    nvp_bind_records();
    nvp_state_attach();
    code = init_status();
    if (code != NVML_SUCCESS)
        return code;
    nvp_unanswered_begin();
    give_handles();
    __atomic_store_n(&nvp_init_count, 1, __ATOMIC_RELEASE);
    nvp_set_flags();
    nvp_debug("serving %u device(s) from %s", nvp_device_count, nvp_image_path[0] ? nvp_image_path : "the built-in default");
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_init(void)
{
    nvmlReturn_t code = NVML_SUCCESS;
    pthread_mutex_lock(&lock);
    if (nvp_init_count == 0)
        code = first_init();
    else
        __atomic_store_n(&nvp_init_count, nvp_init_count + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return code;
}

/* After this process removed a GPU or found one again. */
void nvp_devices_refresh(void)
{
    pthread_mutex_lock(&lock);
    if (nvp_init_count != 0)
        nvp_devices_again();
    pthread_mutex_unlock(&lock);
}

/* The flags ask for no GPUs or no attachment of some; a mock has nothing to attach, so they change nothing (ledger A19). */
nvmlReturn_t nvp_h_init_with_flags(unsigned int flags)
{
    (void)flags;
    return nvp_h_init();
}

nvmlReturn_t nvp_h_shutdown(void)
{
    nvmlReturn_t code = NVML_SUCCESS;
    pthread_mutex_lock(&lock);
    if (nvp_init_count == 0) {
        code = NVML_ERROR_UNINITIALIZED;
    } else if (nvp_init_count == 1) {
        __atomic_store_n(&nvp_init_count, 0, __ATOMIC_RELEASE);
        end_handles();
        nvp_unanswered_write();
        nvp_set_flags();
    } else {
        __atomic_store_n(&nvp_init_count, nvp_init_count - 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* dlclose, or the process's end: a client that loads and unloads the library again and again, as go-nvml does, must not run out of mappings.
 * Where somebody did not shut down, threads may still be reading. */
__attribute__((destructor)) static void end(void)
{
    nvp_unanswered_write();
    if (nvp_initialised())
        return;
    nvp_state_release();
    nvp_image_release();
}

/* Versions answer before init too: then the image is looked for without giving out handles. */
static NVP_COLD nvmlReturn_t look_for_image(void)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t code = nvp_initialised() ? NVML_SUCCESS : nvp_image_ensure();
    if (code == NVML_SUCCESS && !nvp_initialised())
        nvp_bind_records();
    pthread_mutex_unlock(&lock);
    return code == NVML_SUCCESS ? code : NVML_ERROR_UNINITIALIZED;
}

static NVP_INLINE nvmlReturn_t with_image(void)
{
    return NVP_LIKELY(nvp_initialised()) ? NVML_SUCCESS : look_for_image();
}

nvmlReturn_t nvp_h_driver_version(char *version, unsigned int length)
{
    const nvmlReturn_t code = with_image();
    return code == NVML_SUCCESS ? nvp_string(&nvp_node, NVP_S_system_driver_version, version, length) : code;
}

nvmlReturn_t nvp_h_nvml_version(char *version, unsigned int length)
{
    const nvmlReturn_t code = with_image();
    return code == NVML_SUCCESS ? nvp_string(&nvp_node, NVP_S_system_nvml_version, version, length) : code;
}

nvmlReturn_t nvp_h_cuda_version(int *version)
{
    uint64_t value;
    nvmlReturn_t code = with_image();
    if (code == NVML_SUCCESS && !nvp_load(&nvp_node, NVP_S_system_cuda_version, &value))
        code = nvp_number(&nvp_node, NVP_S_system_cuda_version, &value);
    if (code == NVML_SUCCESS)
        *version = (int)value;
    return code;
}

nvmlReturn_t nvp_h_driver_branch(nvmlSystemDriverBranchInfo_t *info, unsigned int length)
{
    const nvmlReturn_t code = with_image();
    if (length > sizeof info->branch)
        length = sizeof info->branch;
    return code == NVML_SUCCESS ? nvp_string(&nvp_node, NVP_S_system_driver_branch, info->branch, length) : code;
}
