package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of a claim's drift, in the order they are looked for. The first that holds is the one that is reported.
const (
	PoolDrifted            = "NodePoolDrifted"          // the NodePool's template changed
	RequirementsDrifted    = "RequirementsDrifted"      // the instance's labels do not meet the NodePool's requirements any more
	TypeDrifted            = "InstanceTypeNotFound"     // the instance's type is not sold any more where it runs, in the way it was bought
	ClassDrifted           = "NodeClassDrift"           // the EC2NodeClass's own fields changed
	ImageDrifted           = "AMIDrift"                 // an instance of this type would boot another image now
	SecurityGroupsDrifted  = "SecurityGroupDrift"       // the instance has other security groups than the class
	SubnetDrifted          = "SubnetDrift"              // the instance is in a subnet the class does not select
	ReservationDrifted     = "CapacityReservationDrift" // the instance runs in a reservation the class does not select
	PlacementGroupsDrifted = "PlacementGroupDrift"      // the instance is in another placement group than the class, or in none
)

// DriftView is what a claim's drift is evaluated by.
type DriftView struct {
	Claim    model.Claim
	Pool     *model.Pool         // the claim's; nil = there is none of that name
	Class    *model.Class        // the claim's, with its status resolved for its generation; nil = there is none of that name
	CA       []byte              // of the cluster's API server
	Type     *model.InstanceType // the claim's, as the class sees it; nil = it is not on offer, where Sold says so, else not known
	Sold     bool                // the instance catalog is known: a type that is not in it is not sold
	Instance *model.Instance     // as EC2 shows it now; nil = it does not
	NowUnix  int64
}

// Drift says why an instance launched now would differ from a claim's. The zero value says that it would not.
type Drift struct {
	Reason  string
	Message string // for people: what is and what would be
}

func unknown(format string, args ...any) error { return fault.New(fault.NotFound, "", format, args...) }

// hashed names the annotations of a hash that a claim was launched with, and the version of today's rules for it.
type hashed struct{ key, versionKey, version string }

var (
	poolHashed  = hashed{model.AnnotationPoolHash, model.AnnotationPoolHashVersion, model.PoolHashVersion}
	classHashed = hashed{model.AnnotationClassHash, model.AnnotationClassHashVersion, model.ClassHashVersion}
)

// differs compares the hash a claim was launched with. One made by other rules than today's says nothing, nor does one
// that is not there.
func (h hashed) differs(claim *model.Claim, now string) bool {
	was := claim.Annotations
	return was[h.key] != "" && now != "" && was[h.versionKey] == h.version && was[h.key] != now
}

func poolHashDrift(v DriftView) Drift {
	now := v.Pool.Hash
	if !poolHashed.differs(&v.Claim, now) {
		return Drift{}
	}
	return Drift{PoolDrifted, fmt.Sprintf("NodePool %s: spec.template has changed since the instance was launched (hash %s, now %s)",
		v.Pool.Name, v.Claim.Annotations[model.AnnotationPoolHash], now)}
}

func classHashDrift(v DriftView) Drift {
	now := v.Class.HashFor(v.CA)
	if !classHashed.differs(&v.Claim, now) {
		return Drift{}
	}
	return Drift{ClassDrifted, fmt.Sprintf("EC2NodeClass %s: spec, or the cluster's certificate authority, has changed since the instance was launched (hash %s, now %s)",
		v.Class.Name, v.Claim.Annotations[model.AnnotationClassHash], now)}
}

func imageDrift(v DriftView) (Drift, error) {
	switch {
	case v.Claim.ImageID == "":
		return Drift{}, unknown("the image of claim %s is unknown", v.Claim.Name)
	case len(v.Class.Status.Images) == 0:
		return Drift{}, unknown("EC2NodeClass %s has no image", v.Class.Name)
	case v.Type == nil:
		return Drift{}, unknown("instance type %s is not offered", v.Claim.InstanceType)
	}
	image, fits := offering.ImageFor(*v.Class, *v.Type)
	if !fits {
		return Drift{ImageDrifted, fmt.Sprintf("the instance booted image %s; no image of EC2NodeClass %s fits %s now",
			v.Claim.ImageID, v.Class.Name, v.Type.Name)}, nil
	}
	if image.ID == v.Claim.ImageID {
		return Drift{}, nil
	}
	return Drift{ImageDrifted, fmt.Sprintf("the instance booted image %s; spec.amiSelectorTerms of EC2NodeClass %s now gives %s (%s) for %s",
		v.Claim.ImageID, v.Class.Name, image.ID, image.Name, v.Type.Name)}, nil
}

func groupsDrift(v DriftView) (Drift, error) {
	if v.Instance == nil {
		return Drift{}, unknown("EC2 does not show the instance of claim %s", v.Claim.Name)
	}
	var want []string
	for _, group := range v.Class.Status.SecurityGroups {
		want = append(want, group.ID)
	}
	have := slices.Clone(v.Instance.SecurityGroups)
	if len(want) == 0 || len(have) == 0 {
		return Drift{}, unknown("the security groups of EC2NodeClass %s or of instance %s are not known", v.Class.Name, v.Instance.ID)
	}
	slices.Sort(want)
	slices.Sort(have)
	if slices.Equal(want, have) {
		return Drift{}, nil
	}
	return Drift{SecurityGroupsDrifted, fmt.Sprintf("the instance has security groups %s; EC2NodeClass %s selects %s",
		strings.Join(have, ", "), v.Class.Name, strings.Join(want, ", "))}, nil
}

func subnetDrift(v DriftView) (Drift, error) {
	if v.Instance.SubnetID == "" || len(v.Class.Status.Subnets) == 0 {
		return Drift{}, unknown("the subnets of EC2NodeClass %s or of instance %s are not known", v.Class.Name, v.Instance.ID)
	}
	if slices.ContainsFunc(v.Class.Status.Subnets, func(s model.Subnet) bool { return s.ID == v.Instance.SubnetID }) {
		return Drift{}, nil
	}
	return Drift{SubnetDrifted, fmt.Sprintf("the instance is in subnet %s, which spec.subnetSelectorTerms of EC2NodeClass %s does not select",
		v.Instance.SubnetID, v.Class.Name)}, nil
}

// reservationDrift is about an instance that was launched into a reservation and is in one still: where it has fallen
// back to on-demand it has not drifted.
func reservationDrift(v DriftView) (Drift, error) {
	in := v.Instance.Reservation
	if v.Claim.CapacityType != model.Reserved || in == "" {
		return Drift{}, nil
	}
	if problem := problemOf(v.Class, "CapacityReservationsReady"); problem != nil {
		return Drift{}, unknown("the reservations of EC2NodeClass %s are not known: %s", v.Class.Name, problem.Message)
	}
	if slices.ContainsFunc(v.Class.Status.Reservations, func(r model.Reservation) bool { return r.ID == in }) {
		return Drift{}, nil
	}
	return Drift{ReservationDrifted, fmt.Sprintf("the instance runs in capacity reservation %s, which spec.capacityReservationSelectorTerms of EC2NodeClass %s does not select",
		in, v.Class.Name)}, nil
}

// placementDrift compares the groups. One that is asked for and was not found is a problem of the class and no drift of
// its instances.
func placementDrift(v DriftView) (Drift, error) {
	if problem := problemOf(v.Class, "PlacementGroupReady"); problem != nil {
		return Drift{}, unknown("the placement group of EC2NodeClass %s is not known: %s", v.Class.Name, problem.Message)
	}
	want := ""
	if group := v.Class.Status.PlacementGroup; group != nil {
		want = group.ID
	}
	have := cmp.Or(v.Instance.PlacementGroup, v.Claim.Labels[model.LabelPlacementGroup])
	if have == want {
		return Drift{}, nil
	}
	return Drift{PlacementGroupsDrifted, fmt.Sprintf("the instance is in placement group %s; spec.placementGroupSelector of EC2NodeClass %s gives %s",
		cmp.Or(have, "none"), v.Class.Name, cmp.Or(want, "none"))}, nil
}

func problemOf(class *model.Class, condition string) *model.ClassProblem {
	for i := range class.Status.Problems {
		if p := &class.Status.Problems[i]; p.Condition == condition {
			return p
		}
	}
	return nil
}

// Rehashed returns a claim's annotations with hashes of today's rules where it has those of others, an older build's or
// Karpenter's, and whether that changed anything. On a claim that has drifted the version alone is brought up, so that
// it stays drifted: of the hashes that may have differed when its reason was found. Reasons are looked for in one
// order, so one that comes after a hash says that the hash was equal.
func Rehashed(claim model.Claim, pool *model.Pool, class *model.Class, ca []byte) (map[string]string, bool) {
	annotations, changed := claim.Annotations, false
	rehash := func(key, versionKey, version, hash string) {
		if hash == "" || annotations[versionKey] == version {
			return
		}
		if !changed {
			annotations, changed = maps.Clone(annotations), true
			if annotations == nil {
				annotations = map[string]string{}
			}
		}
		annotations[versionKey] = version
		if !mayDiffer(claim.Drift, key) || annotations[key] == "" {
			annotations[key] = hash
		}
	}
	if pool != nil {
		rehash(model.AnnotationPoolHash, model.AnnotationPoolHashVersion, model.PoolHashVersion, pool.Hash)
	}
	if class != nil {
		rehash(model.AnnotationClassHash, model.AnnotationClassHashVersion, model.ClassHashVersion, class.HashFor(ca))
	}
	return annotations, changed
}

// mayDiffer reports whether the hash of this annotation may differ on a claim that has drifted for a reason. A reason
// this build does not look for may hide any.
func mayDiffer(reason, key string) bool {
	switch reason {
	case RequirementsDrifted, TypeDrifted: // looked for between the two
		return key == model.AnnotationClassHash
	case "", ImageDrifted, SecurityGroupsDrifted, SubnetDrifted, ReservationDrifted, PlacementGroupsDrifted:
		return false
	case ClassDrifted:
		return key == model.AnnotationClassHash
	}
	return true
}

// FellBackToOnDemand returns the claim as an on-demand one, and true, where it was launched into a capacity reservation
// that its instance is in no more: the reservation ended, and EC2 goes on with the instance at the on-demand price.
func FellBackToOnDemand(claim model.Claim, instance model.Instance) (model.Claim, bool) {
	if claim.CapacityType != model.Reserved || instance.Reservation != "" || over(&instance) || instance.ID != claim.InstanceID {
		return claim, false
	}
	claim.CapacityType, claim.Reservation = model.OnDemand, ""
	claim.Labels = maps.Clone(claim.Labels)
	for _, key := range ReservationLabels {
		delete(claim.Labels, key)
	}
	if _, carried := claim.Labels[model.LabelCapacityType]; carried {
		claim.Labels[model.LabelCapacityType] = model.OnDemand
	}
	return claim, true
}

// ReservationLabels are those of a claim and its node only while it runs in a capacity reservation.
var ReservationLabels = []string{model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible}
