package offer

import "github.com/joiner-sh/joiner/shared/model"

// Settings are the region's and the operator's own values.
type Settings struct {
	Region string
	// MemoryOverheadPPM is the part of a machine's memory that hypervisor and firmware keep, in parts per million.
	// 0 means the default of 75,000 (7.5 %), a negative value none.
	MemoryOverheadPPM int64
	// ReservedENIs are network interfaces no pod gets addresses from (custom networking, security groups for pods).
	ReservedENIs int64
}

// Catalog returns the instance types that nodes of the class see, by name, with every offer of the region: those the
// class cannot use now are unavailable, not absent.
func Catalog(facts []model.MachineType, class model.Class, settings Settings) []model.InstanceType {
	return nil
}

// Mask returns types with the offers that unexpired marks speak of made unavailable. What it is given stays as it was;
// types without a marked offer are shared.
func Mask(types []model.InstanceType, subnets []model.Subnet, marks []model.Mark, nowUnix int64) []model.InstanceType {
	return types
}

// ImageFor returns the first image, in status order, that the type can boot; false where there is none.
func ImageFor(class model.Class, t model.InstanceType) (model.Image, bool) {
	return model.Image{}, false
}
