package ec2

import (
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Quotas of EC2 Fleet.
const (
	maxFleetConfigs    = 50
	maxFleetOverrides  = 300 // launch templates and overrides together
	maxFleetCapacity   = 10000
	fleetTypeInstant   = "instant"
	interruptTerminate = "terminate"
)

// checkFleet refuses requests EC2 refuses as a whole, and those that ask for
// what is not modeled.
func checkFleet(in *createFleetInput) error {
	if in.Type != fleetTypeInstant {
		return wire.Errorf("UnsupportedOperation", "Only fleets of type instant are modelled, not '%s'", in.Type)
	}
	if err := checkTarget(in.TargetCapacitySpecification); err != nil {
		return err
	}
	if err := checkConfigs(in.LaunchTemplateConfigs); err != nil {
		return err
	}
	if err := checkStrategies(in); err != nil {
		return err
	}
	if err := checkReserved(in); err != nil {
		return err
	}
	return checkTagSpecifications(in.TagSpecifications, "instance", "volume", "fleet", "network-interface", "spot-instances-request", "launch-template")
}

func checkTarget(t *targetCapacity) error {
	switch {
	case t == nil:
		return wire.Errorf("MissingParameter", "The request must contain the parameter TargetCapacitySpecification")
	case t.TotalTargetCapacity < 1 || t.TotalTargetCapacity > maxFleetCapacity:
		return wire.Errorf("InvalidParameterValue", "Invalid value '%d' for TotalTargetCapacity. It must be between 1 and %d.", t.TotalTargetCapacity, maxFleetCapacity)
	case t.OnDemandTargetCapacity < 0 || t.SpotTargetCapacity < 0 || t.OnDemandTargetCapacity+t.SpotTargetCapacity > t.TotalTargetCapacity:
		return wire.Errorf("InvalidParameterValue", "On-Demand and Spot target capacity must not exceed the total target capacity.")
	case !slices.Contains([]string{"", Spot, OnDemand, marketBlock, targetReserved}, t.DefaultTargetCapacityType):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for DefaultTargetCapacityType", t.DefaultTargetCapacityType)
	case marketOf(t) != OnDemand && t.OnDemandTargetCapacity+t.SpotTargetCapacity > 0:
		return wire.Errorf("InvalidParameterCombination", "A fleet of default target capacity type '%s' has no other target capacity.", t.DefaultTargetCapacityType)
	}
	return nil
}

// targetReserved is the default target capacity type of interruptible reservations.
const targetReserved = "reserved-capacity"

// marketOf returns the market of what a fleet does not buy as spot.
func marketOf(t *targetCapacity) string {
	switch t.DefaultTargetCapacityType {
	case marketBlock:
		return marketBlock
	case targetReserved:
		return marketInterruptible
	}
	return OnDemand
}

// checkMarket refuses a launch template for another market than the fleet's: reserved ones have to be named in both.
func checkMarket(t *targetCapacity, v *templateVersion) error {
	market := OnDemand
	if o := v.data.InstanceMarketOptions; o != nil && (o.MarketType == marketBlock || o.MarketType == marketInterruptible) {
		market = o.MarketType
	}
	if want := marketOf(t); market != want {
		return wire.Errorf("InvalidFleetConfig", "The market type '%s' of launch template '%s' does not fit the default target capacity type '%s'.", market, v.template.name, t.DefaultTargetCapacityType)
	}
	return nil
}

func checkReserved(in *createFleetInput) error {
	var types []string
	if in.ReservedCapacityOptions != nil {
		types = in.ReservedCapacityOptions.ReservationTypes
	}
	reserved := in.TargetCapacitySpecification.DefaultTargetCapacityType == targetReserved
	switch {
	case reserved && !slices.Equal(types, []string{marketInterruptible}):
		return wire.Errorf("InvalidFleetConfig", "Only interruptible Capacity Reservations are modelled for the default target capacity type '%s'; ReservationType must say so.", targetReserved)
	case !reserved && len(types) > 0:
		return wire.Errorf("InvalidFleetConfig", "ReservedCapacityOptions need the default target capacity type '%s'.", targetReserved)
	}
	return nil
}

func checkConfigs(configs []fleetConfig) error {
	if len(configs) == 0 {
		return wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	}
	if len(configs) > maxFleetConfigs {
		return wire.Errorf("InvalidParameterValue", "The request contains more than the maximum allowed number of launch template configs (%d)", maxFleetConfigs)
	}
	n := len(configs)
	for _, c := range configs {
		if c.Specification == nil {
			return wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateSpecification")
		}
		if c.Specification.Version == "" {
			return wire.Errorf("InvalidFleetConfig", "You must specify a launch template version.")
		}
		n += len(c.Overrides)
	}
	if n > maxFleetOverrides {
		return wire.Errorf("InvalidParameterValue", "The request contains more than the maximum allowed number of launch templates and overrides (%d)", maxFleetOverrides)
	}
	return nil
}

func checkStrategies(in *createFleetInput) error {
	if s := in.spotStrategy(); !slices.Contains(spotStrategies, s) {
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for SpotOptions.AllocationStrategy", s)
	}
	if s := in.onDemandStrategy(); !slices.Contains(onDemandStrategies, s) {
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for OnDemandOptions.AllocationStrategy", s)
	}
	if o := in.OnDemandOptions; o != nil && o.CapacityReservationOptions != nil && !in.reservationsFirst() {
		return wire.Errorf("InvalidParameterValue",
			"Invalid value '%s' for OnDemandOptions.CapacityReservationOptions.UsageStrategy",
			o.CapacityReservationOptions.UsageStrategy)
	}
	o := in.SpotOptions
	if o == nil {
		return nil
	}
	if o.InstancePoolsToUseCount != nil && in.spotStrategy() != lowestPrice {
		return wire.Errorf("InvalidFleetConfig", "InstancePoolsToUseCount option is only available with the lowestPrice allocation strategy.")
	}
	if o.InstanceInterruptionBehavior != "" && o.InstanceInterruptionBehavior != interruptTerminate {
		return wire.Errorf("UnsupportedOperation", "Interruption behaviour '%s' is not modelled", o.InstanceInterruptionBehavior)
	}
	return nil
}
