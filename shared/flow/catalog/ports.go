package catalog

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Records reads the ledger of a cluster, and writes what was found out about classes and claims.
type Records interface {
	port.Ledger
	port.ClaimStates // of claims whose State stays
	// PutClass writes a class record on condition of its Version (0 = there is none), and returns it with the next one.
	// Conflict where the stored one is at another.
	PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error)
	// DeleteClass removes a class record on condition of its Version. One that is not there is no error; Conflict where the
	// stored one is at another.
	DeleteClass(ctx context.Context, cluster string, record model.ClassRecord) error
}

// Clients is an open cluster. Nothing of it can launch or terminate.
type Clients struct {
	Cluster       Cluster
	Claims        port.ClaimObjects
	Reporter      port.Reporter
	Catalog       Catalog
	Profiles      Profiles
	Trials        Trials
	InstanceTypes InstanceTypes
	Zones         Zones
}

// Zones is ARC, as far as a cluster is concerned.
type Zones interface {
	// ZonalShifts returns the zonal shifts and autoshifts that are applied to the cluster, one for each zone and by
	// zone. An UntilUnix of 0 says that it is unknown when one ends. managed is false where zonal shifts are not
	// enabled for the cluster.
	ZonalShifts(ctx context.Context, reg model.Registration) (shifts []model.ZonalShift, managed bool, err error)
}

// ShiftRecords is where what ARC says is recorded.
type ShiftRecords interface {
	// Shifts returns what was written last, read consistently; the zero value where nothing was.
	Shifts(ctx context.Context, cluster string) (model.ZonalShifts, error)
	// PutShifts writes on condition of the Version (0 = there is none). Conflict where the stored one is at another.
	PutShifts(ctx context.Context, cluster string, shifts model.ZonalShifts) error
}

// Cluster is the API server, as far as classes are concerned.
type Cluster interface {
	port.Configurations
	port.LiveStates
	port.Definitions
	// PatchClass puts our finalizer on an EC2NodeClass or takes it off, and sets annotations. NotFound where the object is
	// gone or another.
	PatchClass(ctx context.Context, mark model.ClassPatch) error
}

// Catalog says what can be bought and what a class resolves to.
type Catalog interface {
	// InstanceTypes returns every instance type of the region with its offerings and prices, by name.
	InstanceTypes(ctx context.Context) (model.InstanceCatalog, error)
	// ResolveParts returns what the class's selectors mean now, with every image the queries find (none chosen yet). A selector
	// that finds nothing is a problem of its condition. A part that could not be asked about is an Unknown problem and
	// empty; the others stand, and the error joins what went wrong.
	ResolveParts(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error)
}

// Profiles makes and deletes instance profiles.
type Profiles interface {
	// EnsureProfile makes an instance profile that holds its role, or finishes what was half made. NotFound where the role
	// does not exist, Conflict where the profile holds another.
	EnsureProfile(ctx context.Context, profile model.InstanceProfile) error
	// Profiles returns the instance profiles whose path begins with a prefix, by name.
	Profiles(ctx context.Context, prefix string) ([]model.InstanceProfile, error)
	// DeleteProfile takes the role out of an instance profile and deletes it. One that is not there is no error.
	DeleteProfile(ctx context.Context, profile model.InstanceProfile) error
}

// Trials asks EC2 whether it would launch. Denied means that the permissions are missing, Invalid that the class asks for
// something EC2 refuses; every other error says nothing about the class. Each asks once.
type Trials interface {
	// PrepareRequest makes the launch template a launch needs and returns the bytes of its request. The template stays, and real
	// launches of the same content use it.
	PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error)
	// DryRunFleet asks whether the request would be carried out.
	DryRunFleet(ctx context.Context, request []byte) error
	// DryRun asks whether an instance of the launch, whose request the bytes are, would run in a subnet.
	DryRun(ctx context.Context, launch model.Launch, request []byte, subnet string) error
}

// InstanceTypes is EC2, as far as claims and classes are compared with it and tidied up after.
type InstanceTypes interface {
	port.Instances
	// DeleteTemplates deletes every launch template of the cluster's class. It may be repeated.
	DeleteTemplates(ctx context.Context, cluster, class string) error
}

// Catalogs keeps the instance catalog of each account and region, where every function finds it.
type Catalogs interface {
	// Read returns the catalog of the registration's account and region, and the revision Write conditions on. It is shared
	// and must not be written to. NotFound where there is none yet; Invalid, with its revision, where what is stored cannot be
	// read.
	Read(ctx context.Context, reg model.Registration) (model.InstanceCatalog, string, error)
	// Write replaces it on condition of the revision, "" meaning that there is none. Conflict where that is not so, and nothing
	// was written.
	Write(ctx context.Context, reg model.Registration, catalog model.InstanceCatalog, revision string) error
}

// CatalogSource is what can be bought in a region, seen with one cluster's permissions.
type CatalogSource interface {
	// Refresh reads parts of the catalog again and returns known with them. What could not be read stays as it was, with its
	// own time, and the error says what that is: the catalog returned is good in either case, unless it has no types at all.
	// Prices are merged over those known. Asked for no part it only brings prices that stand in for others, and the version, up
	// to date. Known is left alone. Safe to repeat; it may take many calls, see model.CatalogParts.
	Refresh(ctx context.Context, known model.InstanceCatalog, parts model.CatalogParts) (model.InstanceCatalog, error)
	// HasPriceList reports whether on-demand prices can be read at all; where not, those of a built-in table stand in.
	HasPriceList() bool
}

// Learnings is what was learned of instance types by all clusters of an account and region.
type Learnings interface {
	// Learned returns what is not forgotten at nowUnix, by type, then images. It may be stale by seconds.
	Learned(ctx context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error)
}
