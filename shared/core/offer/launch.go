package offer

import (
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxLaunchTypes is how many instance types one launch may name.
const MaxLaunchTypes = 60

// LaunchInput is what a choice is made from.
type LaunchInput struct {
	Class         model.Class          // with its resolved status: subnets, images
	Types         []model.InstanceType // what the class can buy, marks already applied
	InstanceTypes []string             // acceptable to the claim
	Requirements  []model.Requirement  // of the claim; zone, capacity type and minValues are read from them
	Marks         []model.Mark         // those of single subnets are left out
	NowUnix       int64
}

// Choice is what to ask a fleet for.
type Choice struct {
	CapacityType string           // reserved, spot or on-demand: one request buys one
	Overrides    []model.Override // by price, then type, then zone; never empty; each type has an image (ImageFor)
	Types        int              // distinct instance types among them, 1..MaxLaunchTypes
}

// LaunchChoice says which capacity type to buy for a claim, and from which pools of capacity. A NoCapacity error means
// that nothing the claim accepts is available now.
func LaunchChoice(in LaunchInput) (Choice, error) {
	return Choice{}, fault.New(fault.NoCapacity, "", "no offer is available")
}
