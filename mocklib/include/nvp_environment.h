/* Variables of the environment; part of nvp.h. */
#ifndef NVP_ENVIRONMENT_H
#define NVP_ENVIRONMENT_H

/* ---- environment.c ---- */
const char *nvp_environment(const char *name);
void nvp_environment_begin(void);
const char *nvp_nearest(const char *word, size_t length, const char *const *words, unsigned int count);
void nvp_refuse_variable(const char *name, const char *value, const char *fault, const char *instead);

#endif
