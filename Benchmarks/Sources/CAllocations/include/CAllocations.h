#pragma once

/// The number of times that this process has asked malloc, calloc, realloc or an aligned relative for memory.
long allocation_count(void);
