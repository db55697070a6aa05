package replay

import (
	"bytes"
	"encoding/json"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Facts are what a recorded decision went by beside its question.
type Facts struct {
	Snapshot *model.Snapshot // places of CapacityBuffers among its pods
	Types    []model.InstanceTypeInfo
}

// Sources are where recorded facts lie. Either returns NotFound where it has been forgotten.
type Sources struct {
	Snapshot func(manifest model.Manifest) (*model.Snapshot, error)
	Catalog  func(account, region, version string) (*model.InstanceCatalog, error)
}

// Facts returns what a decision went by: what its record holds itself, and else what lies on the shelves. NotFound where the record does not
// say, or it is not there any more.
func (s Sources) Facts(input *model.DecisionInput, instances model.CatalogUse) (Facts, error) {
	if input == nil {
		return Facts{}, fault.New(fault.NotFound, "NoInput", "the record does not have the input: a version that did not keep it wrote the record, or it could not be stored")
	}
	snapshot, err := s.snapshot(input)
	if err != nil {
		return Facts{}, err
	}
	catalog, err := s.catalog(input, instances.Version)
	if err != nil {
		return Facts{}, err
	}
	return Facts{headroom.WithPlaceholders(snapshot), catalog.Types}, nil
}

func (s Sources) snapshot(input *model.DecisionInput) (*model.Snapshot, error) {
	if input.Snapshot == nil {
		return wire.DecodeSnapshot(input.Listed)
	}
	snapshot, err := s.Snapshot(*input.Snapshot)
	if err != nil {
		return nil, err
	}
	if snapshot.Seq != input.Snapshot.HeadSeq {
		return nil, fault.New(fault.Internal, "OtherSnapshot", "snapshot %d/%d was requested, and %d/%d is stored", input.Snapshot.Epoch, input.Snapshot.HeadSeq, snapshot.Epoch, snapshot.Seq)
	}
	return snapshot, nil
}

func (s Sources) catalog(input *model.DecisionInput, version string) (*model.InstanceCatalog, error) {
	if input.Catalog != nil {
		return wire.DecodeCatalog(input.Catalog)
	}
	return s.Catalog(input.Account, input.Region, version)
}

// ReplayProvision makes a decision's plans once more, one for each of its rounds. Each round is asked as it was, whatever a plan before it
// comes to now.
func ReplayProvision(d *model.Decision, facts Facts) []model.Plan {
	plans := make([]model.Plan, 0, len(d.Rounds))
	for i := range d.Rounds {
		plans = append(plans, Round(d.Rounds[i].Input, facts.Snapshot, facts.Types))
	}
	return plans
}

// ReplayDisruption makes a decision's plan about disruption once more.
func ReplayDisruption(d *model.Disrupted, facts Facts) model.DisruptPlan {
	return PlanDisruption(d.Input, facts.Snapshot, facts.Types, d.Named)
}

// ReplayAndCompare makes a decision's plans once more and says how each differs.
func ReplayAndCompare(d *model.Decision, facts Facts) ([]model.Plan, []model.Difference) {
	plans := ReplayProvision(d, facts)
	differences := make([]model.Difference, len(plans))
	for i := range plans {
		differences[i] = Compare(&d.Rounds[i].Plan, &plans[i])
	}
	return plans, differences
}

// Identical reports whether two plans are the same to the last byte of their encoding.
func Identical[T any](a, b T) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, other)
}
