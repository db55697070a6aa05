package boot

import (
	"os"
	"runtime/debug"
	"strconv"
)

const (
	growPercent  = 400 // how much the heap may grow before it is collected
	limitPercent = 70  // of the function's memory, above which it is collected as often as that takes
)

// TuneGC trades memory that a function is paid for anyway for processor time: its heap may grow fivefold between collections while it is
// far from the size that Lambda gives the function. GOGC and GOMEMLIMIT say otherwise where they are set; outside Lambda nothing changes.
// Source: Lambda developer guide, "Defined runtime environment variables", AWS_LAMBDA_FUNCTION_MEMORY_SIZE, in MB.
func TuneGC() {
	has := MemoryBytes()
	if has == 0 || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(growPercent)
	debug.SetMemoryLimit(has / 100 * limitPercent)
}

// MemoryBytes is what Lambda gives the function, 0 outside Lambda.
func MemoryBytes() int64 {
	megabytes, err := strconv.ParseInt(os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 64)
	if err != nil || megabytes <= 0 {
		return 0
	}
	return megabytes << 20
}
