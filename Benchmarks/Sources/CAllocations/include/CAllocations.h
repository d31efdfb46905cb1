#pragma once

/// The number of calls of malloc, calloc, realloc and their aligned variants on the calling thread.
long allocation_count(void);

/// How many bytes the process has allocated and not freed.
long allocated_bytes(void);
