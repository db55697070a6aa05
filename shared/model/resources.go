package model

// Names of the resources that the code itself uses. Any other name (nvidia.com/gpu, …) is carried as it is.
const (
	CPU              = "cpu"                    // milli-CPU
	Memory           = "memory"                 // bytes
	EphemeralStorage = "ephemeral-storage"      // bytes
	Pods             = "pods"                   // count
	Nodes            = "nodes"                  // count; only in pool limits and usage
	Dollars          = "joiner.sh/usd-per-hour" // micro-USD per hour; only in pool limits and usage
)

// Resources are amounts by resource name: CPU in milli-CPU, memory and storage in bytes, Dollars in micro-USD per hour,
// everything else in whole units. A missing name means zero. Amounts are never negative in a pod's requests; in what is
// left of a node they may be. Nil is a valid empty value. Whoever ranges over it sorts the names first.
type Resources map[string]int64

// MicroUSD is money in millionths of a US dollar; a price is MicroUSD per hour.
type MicroUSD int64

// USD returns the amount in dollars, for people.
func (m MicroUSD) USD() float64 { return float64(m) / 1e6 }
