package pack

import "github.com/joiner-sh/joiner/shared/core/pack/input"

// Input is everything a plan depends on. Plan reads it and keeps nothing of it.
type Input = input.Input

// Codes of model.Reason: why a pool, or anything at all, cannot hold a pod. Package input says what each means.
const (
	Invalid             = input.Invalid
	NotSupportedYet     = input.NotSupportedYet
	NoPools             = input.NoPools
	PoolInvalid         = input.PoolInvalid
	PoolDeleting        = input.PoolDeleting
	PoolStatic          = input.PoolStatic
	PoolSuspended       = input.PoolSuspended
	ClassNotReady       = input.ClassNotReady
	NoInstanceTypes     = input.NoInstanceTypes
	TaintNotTolerated   = input.TaintNotTolerated
	RequirementConflict = input.RequirementConflict
	ResourcesTooLarge   = input.ResourcesTooLarge
	NoOffering          = input.NoOffering
	MinValues           = input.MinValues
	LimitReached        = input.LimitReached
	HostPortTaken       = input.HostPortTaken
	VolumeConflict      = input.VolumeConflict
	VolumeLimit         = input.VolumeLimit
	DevicesUnavailable  = input.DevicesUnavailable
	TopologySpread      = input.TopologySpread
	PodAffinity         = input.PodAffinity
	PodAntiAffinity     = input.PodAntiAffinity
)
