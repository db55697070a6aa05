package boot

import (
	"fmt"
	"math"
	"strconv"
)

// InstanceSettings are the operator's words on what instances hold: every function that plans or evaluates has the same ones. Embed it
// in the settings of a program.
type InstanceSettings struct {
	Overhead     Share `env:"JOINER_VM_MEMORY_OVERHEAD_PERCENT"` // of memory that hypervisor and firmware keep, 0.075 = 7.5 % where unset
	ReservedENIs uint8 `env:"JOINER_RESERVED_ENIS"`              // network interfaces no pod gets addresses from
	NodeClassCEL bool  `env:"JOINER_NODE_CLASS_CEL"`             // expressions in kubelet configurations are allowed
}

// Share is a part of a whole, written as a number from 0 to below 1, in parts per million. 0 = nothing was written, −1 = none.
type Share int64

// UnmarshalText reads a number such as 0.075.
func (s *Share) UnmarshalText(text []byte) error {
	const million = 1_000_000
	part, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(part >= 0 && part < 1) {
		return fmt.Errorf("%q is not from 0 to below 1; write a part of the whole, such as 0.075", text)
	}
	if *s = Share(math.Round(part * million)); *s == 0 {
		*s = -1
	}
	return nil
}
