package ec2

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Pool is where capacity comes from: a type in a zone, bought one way.
type Pool struct {
	Type         string // "m5.large"
	Zone         string // "us-west-2a"
	CapacityType string // OnDemand or Spot
}

// String returns e.g. "spot m5.large in us-west-2a".
func (p Pool) String() string { return p.CapacityType + " " + p.Type + " in " + p.Zone }

// SetCapacity says how many more instances a pool can launch. Launches use it
// up, terminations do not give it back. Until it is called a pool has plenty.
func (m *Model) SetCapacity(p Pool, n int) {
	m.lock()
	defer m.unlock()
	m.stock[p] = n
}

// ClearCapacity gives a pool plenty again.
func (m *Model) ClearCapacity(p Pool) {
	m.lock()
	defer m.unlock()
	delete(m.stock, p)
}

// Capacity returns what is left in a pool; limited is false when it has plenty.
func (m *Model) Capacity(p Pool) (left int, limited bool) {
	m.lock()
	defer m.unlock()
	left, limited = m.stock[p]
	return left, limited
}

type poolFault struct {
	pool          Pool
	code, message string
}

// FailPool makes every launch from a pool fail with an error code until it is
// called again with code "". An empty field of the pool stands for any value; launches
// that may only use a reservation are of the capacity type Reserved.
func (m *Model) FailPool(p Pool, code, message string) {
	m.lock()
	defer m.unlock()
	m.faults = slices.DeleteFunc(m.faults, func(f poolFault) bool { return f.pool == p })
	if code != "" {
		m.faults = append(m.faults, poolFault{p, code, message})
	}
}

func (m *Model) fault(p Pool) *wire.Error {
	matches := func(pattern, value string) bool { return pattern == "" || pattern == value }
	for _, f := range m.faults {
		if matches(f.pool.Type, p.Type) && matches(f.pool.Zone, p.Zone) && matches(f.pool.CapacityType, p.CapacityType) {
			return wire.Errorf(f.code, "%s", f.message)
		}
	}
	return nil
}

// Quota limits what an account may run at once. Zero means no limit.
type Quota struct {
	OnDemandVCPUs int // beyond it launches fail with VcpuLimitExceeded
	SpotVCPUs     int // beyond it launches fail with MaxSpotInstanceCountExceeded
}

// SetQuota replaces the quota.
func (m *Model) SetQuota(q Quota) {
	m.lock()
	defer m.unlock()
	m.quota = q
}

// vcpusInUse counts the vCPUs of pending and running instances bought one way;
// those in a reservation are counted with it, when it is made.
func (m *Model) vcpusInUse(capacityType string) int {
	n := 0
	for _, i := range m.instances {
		if i.facts.CapacityType == capacityType && i.reservation == nil && (i.facts.State == Pending || i.facts.State == Running) {
			n += i.facts.VCPUs
		}
	}
	return n
}

func (q Quota) limit(capacityType string) int {
	if capacityType == Spot {
		return q.SpotVCPUs
	}
	return q.OnDemandVCPUs
}

func noCapacity(p Pool) *wire.Error {
	if p.CapacityType == Spot {
		return wire.Errorf("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
	}
	return wire.Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity.", p.Type, p.Zone)
}

func overQuota(p Pool, limit int) *wire.Error {
	if p.CapacityType == Spot {
		return wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to.", limit)
}

// priceOf returns the price of a pool in micro-dollars per hour.
func (m *Model) priceOf(t catalog.Type, zone, capacityType string) int64 {
	if capacityType == Spot {
		return m.spotPriceOf(t, zone, m.now()).microUSD
	}
	return t.OnDemandMicroUSDPerHour
}

// dollars writes a price as EC2 does: six decimals.
func dollars(microUSD int64) string {
	return fmt.Sprintf("%d.%06d", microUSD/1e6, microUSD%1e6)
}

// microUSD reads a price in dollars.
func microUSD(s string) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for price", s)
	}
	return int64(f*1e6 + 0.5), nil
}
