package provision

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Names of EC2.
const (
	efa               = "vpc.amazonaws.com/efa" // the resource pods ask for EFA interfaces with
	strategyPartition = "partition"
	strategySpread    = "spread"
)

// scope is how much of what can be bought an EC2 error code speaks about.
type scope uint8

const (
	scopeNone         scope = iota // nothing about capacity: throttling, permissions, parameters
	scopeOffering                  // this instance type in this zone
	scopeGroup                     // every offering of the quota group and capacity type: an account limit
	scopeCapacityType              // every offering of the capacity type: an account limit
	scopeSpot                      // every spot offering: the account may not use spot
	scopeSubnet                    // the subnet, not the type
)

// scopes by EC2 error code. A code that is not here marks nothing: absence of knowledge is no evidence of absence of
// capacity. Source: the error codes of the EC2 API reference for CreateFleet and RunInstances.
var scopes = map[string]scope{
	"InsufficientInstanceCapacity":                      scopeOffering,
	"UnfulfillableCapacity":                             scopeOffering,
	"Unsupported":                                       scopeOffering,
	"SpotMaxPriceTooLow":                                scopeOffering,
	"ReservationCapacityExceeded":                       scopeOffering,
	"VcpuLimitExceeded":                                 scopeGroup,
	"InstanceLimitExceeded":                             scopeGroup,
	"MaxSpotInstanceCountExceeded":                      scopeCapacityType,
	"MaxFleetCountExceeded":                             scopeCapacityType,
	"AuthFailure.ServiceLinkedRoleCreationNotPermitted": scopeSpot,
	"InsufficientFreeAddressesInSubnet":                 scopeSubnet,
}

// accountLimit reports whether the code says that the account may have no more, however much there is.
func accountLimit(code string) bool {
	return scopes[code] == scopeGroup || scopes[code] == scopeCapacityType
}

// capacityCode reports whether the code says that there is no capacity, rather than that the request is wrong.
func capacityCode(code string) bool { return scopes[code] != scopeNone }

// refusals begin the codes that say that a request is wrong or not permitted: asking again is no use before somebody
// corrects the class or its permissions. Codes of throttling and of EC2's own trouble are not among them.
var refusals = []string{
	"Invalid", "Missing", "UnknownParameter", "UserDataSizeLimitExceeded", "UnauthorizedOperation", "AuthFailure",
	"AccessDenied", "OptInRequired",
	"Blocked", "PendingVerification",
}

func refusalCode(code string) bool {
	return slices.ContainsFunc(refusals, func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}

// throttles are the codes that ask for fewer calls.
var throttles = []string{
	"RequestLimitExceeded", "Throttling", "ThrottlingException", "EC2ThrottledException", "TooManyRequestsException",
}

func throttleCode(code string) bool { return slices.Contains(throttles, code) }

// templateGone reports whether the code says that a launch template does not exist any more.
func templateGone(code string) bool { return strings.HasPrefix(code, "InvalidLaunchTemplate") }

// keyOf returns the offering that an override of a launch names.
func keyOf(o model.Override, capacityType string) model.OfferingKey {
	return model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: capacityType}
}

func codeOr(err error, code string) string {
	if c := fault.CodeOf(err); c != "" {
		return c
	}
	return code
}

// reasons name what is wrong with a launch, for people and conditions. An error is of the first whose texts it all has,
// in code or message, whatever their case. Source: the error codes of the EC2 API reference; the names are Karpenter's.
var reasons = []struct {
	reason string
	texts  []string // alternatives within one are separated by |
}{
	{"SpotSLRCreationFailed", []string{"AuthFailure.ServiceLinkedRoleCreationNotPermitted"}},
	{"AMIAuthorizationFailure", []string{denied, "not authorized for images"}},
	{"Unauthorized", []string{denied}},
	{"SecurityGroupSubnetVPCMismatch", []string{"InvalidParameter", "different networks"}},
	{profileInvalid, []string{"iamInstanceProfile.name", "invalid"}},
	{templateNotFound, []string{"InvalidLaunchTemplateId.NotFound|InvalidLaunchTemplateName.NotFound"}},
	{"UserDataSizeLimitExceeded", []string{"UserDataSizeLimitExceeded|user data is limited to"}},
	{"InvalidAMIID", []string{"InvalidAMIID.Malformed"}},
	{"AMINotFound", []string{"InvalidAMIID.NotFound"}},
	{"RequestLimitExceeded", []string{"RequestLimitExceeded"}},
	{"InternalError", []string{"InternalError"}},
	{"FreeTierIneligible", []string{"not eligible for Free Tier"}},
	{"FleetQuotaExceeded", []string{"MaxFleetCountExceeded"}},
	{"AccountPendingVerification", []string{"PendingVerification"}},
	{"SpotQuotaExceeded", []string{"MaxSpotInstanceCountExceeded"}},
	{"VCPULimitExceeded", []string{"VcpuLimitExceeded"}},
	{"InsufficientFreeAddressesInSubnet", []string{"InsufficientFreeAddressesInSubnet"}},
}

const (
	templateNotFound = "LaunchTemplateNotFound"
	profileInvalid   = "InstanceProfileNameInvalid"
)

const denied = "UnauthorizedOperation|AccessDenied|AuthFailure"

// reasonOf classifies an error of EC2's.
func reasonOf(code, message string) string {
	text := strings.ToLower(code + ": " + message)
	for _, r := range reasons {
		all := true
		for _, alternatives := range r.texts {
			has := func(one string) bool { return strings.Contains(text, one) }
			all = all && slices.ContainsFunc(strings.Split(strings.ToLower(alternatives), "|"), has)
		}
		if all {
			return r.reason
		}
	}
	return "LaunchFailed"
}

// everyPool is the error of a whole call as if each pool of capacity it named had given it.
func everyPool(launch model.Launch, code, message string) []model.LaunchError {
	var errors []model.LaunchError
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			errors = append(errors, model.LaunchError{
				Code: code, Message: message, SubnetID: o.SubnetID, Offering: keyOf(o, launch.CapacityType),
			})
		}
	}
	return errors
}

// unavailableOf turns a launch's errors into unavailable offerings without times: one for each offering, subnet,
// reservation, quota group or capacity type, in the order of the errors. Of a launch that is not known any more,
// offerings are all that is marked.
func unavailableOf(launch model.Launch, errors []model.LaunchError) []model.UnavailableOffering {
	var unavailableOfferings []model.UnavailableOffering
	seen := map[model.UnavailableOffering]bool{}
	reservations := reservationsOf(launch)
	for _, e := range errors {
		unavailable, ok := unavailableOfError(launch, reservations, e)
		if !ok || seen[unavailable.About()] {
			continue
		}
		seen[unavailable.About()] = true
		unavailableOfferings = append(unavailableOfferings, unavailable)
	}
	return unavailableOfferings
}

// reservationsOf returns what a launch of reserved capacity goes into, by type and zone. It is empty for others.
func reservationsOf(launch model.Launch) map[model.OfferingKey]string {
	out := map[model.OfferingKey]string{}
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			if template.Reservation != "" {
				out[keyOf(o, launch.CapacityType)] = template.Reservation
			}
		}
	}
	return out
}

// unavailableOfError says what an error names; false where it names nothing that could be avoided. Within a placement
// group only the group is named, and of reserved capacity only the reservation: others may give what it did not.
func unavailableOfError(launch model.Launch, reservations map[model.OfferingKey]string,
	e model.LaunchError) (model.UnavailableOffering, bool) {
	unavailable := model.UnavailableOffering{OfferingKey: e.Offering, Reason: e.Code}
	group := launch.Class.Status.PlacementGroup
	of := scopes[e.Code]
	reserved := launch.CapacityType == model.Reserved
	switch {
	case of == scopeNone:
		return unavailable, false
	case of == scopeSubnet:
		unavailable.OfferingKey, unavailable.SubnetID = model.OfferingKey{}, e.SubnetID
	case group != nil && spreadLimit(group, e):
		unavailable.OfferingKey, unavailable.PlacementGroup = model.OfferingKey{Zone: e.Offering.Zone}, group.ID
		return unavailable, e.Offering.Zone != "" && !reserved // the reservation has not refused anything
	case reserved && reservations[e.Offering] != "":
		unavailable.OfferingKey, unavailable.Reservation = model.OfferingKey{}, reservations[e.Offering]
	case of == scopeGroup:
		unavailable.Group = offering.QuotaGroup(e.Offering.InstanceType)
		unavailable.OfferingKey = model.OfferingKey{CapacityType: e.Offering.CapacityType}
	case of == scopeCapacityType:
		unavailable.OfferingKey = model.OfferingKey{CapacityType: e.Offering.CapacityType}
	case of == scopeSpot:
		unavailable.OfferingKey = model.OfferingKey{CapacityType: model.Spot}
	case group != nil:
		unavailable.PlacementGroup = group.ID
	}
	return unavailable, unavailable.OfferingKey != model.OfferingKey{} || unavailable.SubnetID != "" ||
		unavailable.Reservation != ""
}

// spreadLimit reports whether an error says that a group of strategy spread has as many instances in the zone as it
// takes: of no type any more. EC2 has no code of its own for it. Source: EC2 user guide, placement groups, seven
// running instances for each zone.
func spreadLimit(group *model.PlacementGroup, e model.LaunchError) bool {
	return group.Strategy == strategySpread && scopes[e.Code] == scopeOffering &&
		strings.Contains(strings.ToLower(e.Message), "placement group")
}
