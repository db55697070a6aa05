package newnodes

import (
	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
)

// DevicesOf returns the devices that a new node of the pool and the type has for pods, beside those of DaemonSets.
func DevicesOf(index *device.Index, pool *offerings.Pool, t int) *device.Devices {
	all := index.OfType(pool.Market.Types[t].Name)
	if pool.Claimants == nil {
		return all
	}
	return index.Beside(all, pool.Claimants[t])
}
