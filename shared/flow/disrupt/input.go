package disrupt

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// inputs makes what core/disruption is asked. What classes can buy is worked out once in a run.
type inputs struct {
	*session
	view
	catalog      *model.InstanceCatalog // nil = not read yet
	plannerInput model.DisruptionInput  // without what changes during the run
	input        *disruption.Input      // what it comes to; nil = not made yet
}

// readCatalog reads the region's instance catalog once.
func (r *inputs) readCatalog(ctx context.Context) error {
	if r.catalog != nil {
		return nil
	}
	catalog, err := r.flow.Catalogs.RegionCatalog(ctx, r.reg)
	if err != nil {
		return fmt.Errorf("read the catalog of instance types of %s: %w", r.reg.Region, err)
	}
	if age := r.NowUnix() - catalog.ReadUnix; age > seconds(r.settings.CatalogAfter) {
		return fault.New(fault.NotFound, "Stale", "the catalog of instance types of %s is %d s old", r.reg.Region, age)
	}
	use := offering.Use(sharedSource, catalog, r.NowUnix())
	r.catalog, r.out.Catalog = &catalog, &use
	return nil
}

// now joins the snapshot with what the ledger knows beyond it, as this run has written it, and returns the question beside what it comes
// to.
func (r *inputs) now(ctx context.Context) (disruption.Input, model.DisruptionInput, error) {
	if r.input == nil {
		if err := r.readCatalog(ctx); err != nil {
			return disruption.Input{}, model.DisruptionInput{}, err
		}
		r.plannerInput = model.DisruptionInput{
			Offerings: r.settings.Offerings, Usage: r.state.Usage, UnavailableOfferings: r.state.unavailableOfferings(),
			SuspendedPools: r.state.suspendedPools(), Stops: r.state.firmStops(), Settings: r.settings.Disruption,
			Unclaimed: r.state.Unread.Claims() > 0,
		}
		r.plannerInput.Offerings.Region, r.plannerInput.Offerings.NowUnix = r.reg.Region, r.NowUnix()
		for i := range r.snapshot.Classes {
			r.plannerInput.Classes = append(r.plannerInput.Classes, r.plannerClass(r.snapshot.Classes[i]))
		}
		input := replay.DisruptionInput(&r.plannerInput, r.snapshot, r.catalog.Types)
		r.input = &input
	}
	q := r.plannerInput
	q.NowUnix = r.NowUnix()
	q.Commands = slices.Clone(r.state.Commands)
	for i := range r.state.Claims {
		if claim := &r.state.Claims[i]; claim.Live() {
			q.Claims = append(q.Claims, *claim)
		}
	}
	input := *r.input
	input.NowUnix, input.Commands, input.Claims = q.NowUnix, q.Commands, q.Claims
	return input, q, nil
}

// plannerClass says how a class stands. What EC2 refuses to launch, or whose instances do not join, buys nothing: its offerings have
// prices and are not available.
func (r *inputs) plannerClass(class model.Class) model.PlannerClass {
	now := r.NowUnix()
	class.Status = offering.Latest(class, r.state.Classes)
	asked := model.PlannerClass{Name: class.Name, Suspended: r.state.suspended(class.Name, now)}
	age := now - class.Status.ResolvedUnix
	switch {
	case class.Status.ObservedGeneration != class.Generation || class.Status.ResolvedUnix == 0:
		asked.Barred = "it is not resolved yet" + classConditions(class.Name)
	case age > seconds(r.settings.ClassAfter):
		asked.Barred = fmt.Sprintf("it was resolved %d s ago, and not since%s", age, classConditions(class.Name))
	}
	asked.Status = offering.Less(class.Status, offering.Taken(&class.Status, r.state.Claims), r.state.UnavailableOfferings, now)
	return asked
}

// classConditions says which command shows what a class lacks.
func classConditions(class string) string {
	return "; its conditions say what is missing: kubectl describe ec2nodeclass " + class
}
