package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// classes is what EC2NodeClasses resolve to and what can be bought by them, as far as this run found out.
type classes struct {
	*state
	quota  *quota
	shared port.RegionCatalogs
	own    Catalog

	catalog    *model.InstanceCatalog // nil until it was asked for in this run
	catalogUse model.CatalogUse       // where it is from
	resolved   map[string]model.Class // by name, with the status resolved in this run
	byHand     []string               // names of those that NodeClaims made by hand use
}

// Sources of an instance catalog.
const (
	catalogShared = "s3"  // the one the catalog function keeps for every cluster of the region
	catalogOwn    = "ec2" // read by this function itself
)

// readCatalog returns the region's instance catalog: the shared one, or what EC2 says where that is missing or too old,
// so that a catalog function that died stops nobody. Where EC2 cannot be asked either the shared one does, however old.
func (c *classes) readCatalog(ctx context.Context) (model.InstanceCatalog, error) {
	if c.catalog != nil {
		return *c.catalog, nil
	}
	shared, err := c.shared.RegionCatalog(ctx, c.reg)
	if err != nil && !fault.Is(err, fault.NotFound) {
		c.problem("read the catalog that all clusters of %s share: %v", c.reg.Region, err)
	}
	if err == nil && c.age(shared.ReadUnix) < c.settings.CatalogAfter {
		return c.decideBy(catalogShared, shared), nil
	}
	own, err := c.catalogFromEC2(ctx)
	switch {
	case err == nil && own.ReadUnix >= shared.ReadUnix:
		return c.decideBy(catalogOwn, own), nil
	case len(shared.Types) > 0:
		if err != nil {
			c.problem("read the catalog of %s from EC2; an older one is used: %v", c.reg.Region, err)
		}
		return c.decideBy(catalogShared, shared), nil
	case err != nil:
		return model.InstanceCatalog{}, fmt.Errorf("read the catalog of %s: %w", c.reg.Region, err)
	}
	return c.decideBy(catalogOwn, own), nil
}

// catalogFromEC2 reads the catalog from EC2, within what the region's clusters may take of its API together.
func (c *classes) catalogFromEC2(ctx context.Context) (model.InstanceCatalog, error) {
	if calls := c.own.CallsDue(); calls > 0 {
		if !c.quota.takeReads(ctx, calls) {
			return model.InstanceCatalog{}, fault.New(fault.Throttled, "", quotaUsedUp)
		}
	}
	own, err := c.own.InstanceTypes(ctx)
	if fault.Is(err, fault.Throttled) {
		c.quota.settleCalls(ctx, granted{}, 0, true)
	}
	return own, err
}

// decideBy notes by which catalog this run decides, and how old it is.
func (c *classes) decideBy(source string, catalog model.InstanceCatalog) model.InstanceCatalog {
	c.catalog = &catalog
	c.catalogUse = offering.Use(source, catalog, c.now())
	c.out.Catalog = &c.catalogUse
	return catalog
}

// resolveClasses brings the status of every class a pool uses up to date, unless it was resolved a moment ago. Looking
// at the configuration, it does so for every class there is.
func (c *classes) resolveClasses(ctx context.Context) {
	used := map[string]bool{}
	for _, pool := range c.snapshot.Pools {
		used[pool.Template.ClassName] = true
	}
	for _, name := range c.byHand {
		used[name] = true
	}
	if c.resolved == nil {
		c.resolved = map[string]model.Class{}
	}
	for _, class := range c.snapshot.Classes {
		if _, known := c.resolved[class.Name]; known {
			continue // found out in this run
		}
		if class.DeletedUnix != 0 || !used[class.Name] && c.request.Trigger != TriggerConfig {
			continue
		}
		class.Status = offering.Latest(class, c.ledger.Classes)
		if c.stale(class) {
			class.Status = c.resolve(ctx, class)
			// nobody else tells people how classes stand: the catalog function has never run
			if len(c.ledger.Classes) == 0 {
				c.report.Classes = slices.DeleteFunc(c.report.Classes,
					func(c model.ClassReport) bool { return c.Class == class.Name })
				c.report.Classes = append(c.report.Classes,
					model.ClassReport{Class: class.Name, UID: class.UID, Status: class.Status})
			}
		}
		c.resolved[class.Name] = class
	}
	c.reached("classes")
}

// resolve returns what the class means now. Where that cannot be found out, what was known of the same generation stays
// good: absence of an answer is no evidence that anything changed.
func (c *classes) resolve(ctx context.Context, class model.Class) model.ClassStatus {
	status, err := c.resolveClass(ctx, class)
	if err == nil {
		return status
	}
	c.problem("resolve class %s: %v", class.Name, err)
	if class.Status.ObservedGeneration == class.Generation && len(class.Status.Problems) == 0 &&
		!fault.Is(err, fault.Invalid) {
		return class.Status
	}
	problem := model.ClassProblem{
		Condition: "ValidationSucceeded", Reason: "ResolutionFailed", Message: err.Error(), Unknown: true,
	}
	if fault.Is(err, fault.Invalid) {
		problem = model.ClassProblem{Condition: "AMIsReady", Reason: codeOr(err, "Invalid"), Message: err.Error()}
	}
	return model.ClassStatus{
		ObservedGeneration: class.Generation, ResolvedUnix: c.now(), Problems: []model.ClassProblem{problem},
	}
}

func (c *classes) resolveClass(ctx context.Context, class model.Class) (model.ClassStatus, error) {
	queries, err := image.Queries(class, c.reg.Version)
	if err != nil {
		return model.ClassStatus{}, err
	}
	calls := callsPerClass + len(class.Reservations)
	if class.PlacementGroup != nil {
		calls++
	}
	if !c.quota.takeReads(ctx, calls) {
		c.quota.putOff = true
		return model.ClassStatus{}, fault.New(fault.Throttled, "", quotaUsedUp)
	}
	status, err := c.own.Resolve(ctx, class, queries)
	if fault.Is(err, fault.Throttled) {
		c.quota.settleCalls(ctx, granted{}, 0, true)
	}
	if err != nil {
		return model.ClassStatus{}, err
	}
	status.Images = image.Choose(status.Images)
	status.ObservedGeneration, status.ResolvedUnix = class.Generation, c.now()
	return status, nil
}

// callsPerClass is how many calls of EC2's API resolving a class takes at least: subnets, security groups and images.
const callsPerClass = 3

// stale reports whether a class must be resolved before it is used.
func (c *classes) stale(class model.Class) bool {
	status := class.Status
	old := c.now()-status.ResolvedUnix > int64(c.settings.ResolveAfter.Seconds())
	if offering.Recorded(class, c.ledger.Classes) != nil && !old {
		return false // the catalog function looks at it again by itself, at what is wrong with it too
	}
	return status.ObservedGeneration != class.Generation || len(status.Problems) > 0 || old
}

// configDue reports whether pools and classes must be looked at although no pod is pending.
func (c *classes) configDue() bool {
	return c.request.Trigger == TriggerConfig || c.state.source == sourceList || c.overlaysDue() ||
		slices.ContainsFunc(c.snapshot.Classes, func(class model.Class) bool {
			known := class.Status.ObservedGeneration == class.Generation && len(class.Status.Problems) == 0
			return !known && offering.Recorded(class, c.ledger.Classes) == nil
		})
}

// typesOf returns a class as it stands now and its instance types, for a claim launched earlier.
func (c *classes) typesOf(ctx context.Context, className string) (model.Class, []model.InstanceType, error) {
	catalog, err := c.readCatalog(ctx)
	if err != nil {
		return model.Class{}, nil, err
	}
	found := c.class(className)
	if found == nil {
		return model.Class{}, nil, nil
	}
	class := *found
	class.Status = offering.Latest(class, c.ledger.Classes)
	return class, offering.Catalog(catalog.Types, class, c.offeringSettings()), nil
}

// resolvedClass returns a class with what its selectors mean: as this run resolved it, else as the ledger or the object
// has it for the same generation.
func (c *classes) resolvedClass(name string) (model.Class, bool) {
	if class, resolved := c.resolved[name]; resolved {
		return class, true
	}
	found := c.class(name)
	if found == nil {
		return model.Class{}, false
	}
	class := *found
	if record := find(c.ledger.Classes, func(record *model.ClassRecord) bool {
		return record.Name == name && record.UID == class.UID && record.Status.ObservedGeneration == class.Generation
	}); record != nil {
		class.Status = record.Status
		return class, true
	}
	return class, class.Status.ObservedGeneration == class.Generation && len(class.Status.Images) > 0
}

// instanceType returns a type of the catalog; nil where it is not among them any more.
func (c *classes) instanceType(name string) *model.InstanceTypeInfo {
	at, found := slices.BinarySearchFunc(c.catalog.Types, name,
		func(m model.InstanceTypeInfo, name string) int { return cmp.Compare(m.Name, name) })
	if !found {
		return nil
	}
	return &c.catalog.Types[at]
}

// imageFor returns the id of the image that a node of class and type would get now; "" where there is none.
func (c *classes) imageFor(class model.Class, info *model.InstanceTypeInfo) string {
	types := offering.Catalog([]model.InstanceTypeInfo{*info}, class, c.offeringSettings())
	if len(types) != 1 {
		return ""
	}
	image, _ := offering.ImageFor(class, types[0])
	return image.ID
}
