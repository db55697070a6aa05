package provision

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
)

// scope is how much of what can be bought an EC2 error code speaks about.
type scope uint8

const (
	scopeNone         scope = iota // nothing about capacity: throttling, rights, parameters
	scopeOffer                     // this instance type in this zone
	scopeGroup                     // every offer of the quota group and capacity type: an account limit
	scopeCapacityType              // every offer of the capacity type: an account limit
	scopeSpot                      // every spot offer: the account may not use spot
	scopeSubnet                    // the subnet, not the type
)

// scopes by EC2 error code. A code that is not here marks nothing: absence of knowledge is no evidence of absence of
// capacity. Source: the error codes of the EC2 API reference for CreateFleet and RunInstances.
var scopes = map[string]scope{
	"InsufficientInstanceCapacity":                      scopeOffer,
	"UnfulfillableCapacity":                             scopeOffer,
	"Unsupported":                                       scopeOffer,
	"SpotMaxPriceTooLow":                                scopeOffer,
	"ReservationCapacityExceeded":                       scopeOffer,
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
	"Invalid", "Missing", "UnknownParameter", "UserDataSizeLimitExceeded", "UnauthorizedOperation", "AuthFailure", "AccessDenied", "OptInRequired",
	"Blocked", "PendingVerification",
}

func refusalCode(code string) bool {
	for _, prefix := range refusals {
		if strings.HasPrefix(code, prefix) {
			return true
		}
	}
	return false
}

// throttleCode reports whether the code asks for fewer calls.
func throttleCode(code string) bool {
	switch code {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "EC2ThrottledException", "TooManyRequestsException":
		return true
	}
	return false
}

// templateGone reports whether the code says that a launch template does not exist any more.
func templateGone(code string) bool { return strings.HasPrefix(code, "InvalidLaunchTemplate") }

// everyPool is the error of a whole call as if each pool of capacity it named had given it.
func everyPool(launch model.Launch, code, message string) []model.LaunchError {
	var errors []model.LaunchError
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			errors = append(errors, model.LaunchError{
				Code: code, Message: message, SubnetID: o.SubnetID,
				Offer: model.OfferKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: launch.CapacityType},
			})
		}
	}
	return errors
}

// marksOf turns a launch's errors into marks without times: one mark per offer, subnet, reservation, quota group or capacity
// type, in the order of the errors. Of a launch that is not known any more, offers are all that is marked.
func marksOf(launch model.Launch, errors []model.LaunchError) []model.Mark {
	var marks []model.Mark
	seen := map[model.Mark]bool{}
	reservations := reservationsOf(launch)
	for _, e := range errors {
		mark, ok := markOf(launch, reservations, e)
		if !ok || seen[mark.About()] {
			continue
		}
		seen[mark.About()] = true
		marks = append(marks, mark)
	}
	return marks
}

// reservationsOf returns what a launch of reserved capacity goes into, by type and zone. It is empty for others.
func reservationsOf(launch model.Launch) map[model.OfferKey]string {
	out := map[model.OfferKey]string{}
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			if template.Reservation != "" {
				out[model.OfferKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: launch.CapacityType}] = template.Reservation
			}
		}
	}
	return out
}

// markOf says what an error speaks of; false where it names nothing that could be avoided. Within a placement group only
// the group is spoken of, and of reserved capacity only the reservation: others may give what it did not.
func markOf(launch model.Launch, reservations map[model.OfferKey]string, e model.LaunchError) (model.Mark, bool) {
	mark := model.Mark{OfferKey: e.Offer, Reason: e.Code}
	group := launch.Class.Status.PlacementGroup
	of := scopes[e.Code]
	reserved := launch.CapacityType == model.Reserved
	switch {
	case of == scopeNone:
		return mark, false
	case of == scopeSubnet:
		mark.OfferKey, mark.SubnetID = model.OfferKey{}, e.SubnetID
	case group != nil && spreadLimit(group, e):
		mark.OfferKey, mark.PlacementGroup = model.OfferKey{Zone: e.Offer.Zone}, group.ID
		return mark, e.Offer.Zone != "" && !reserved // the reservation has not refused anything
	case reserved && reservations[e.Offer] != "":
		mark.OfferKey, mark.Reservation = model.OfferKey{}, reservations[e.Offer]
	case of == scopeGroup:
		mark.Group = offer.QuotaGroup(e.Offer.InstanceType)
		mark.OfferKey = model.OfferKey{CapacityType: e.Offer.CapacityType}
	case of == scopeCapacityType:
		mark.OfferKey = model.OfferKey{CapacityType: e.Offer.CapacityType}
	case of == scopeSpot:
		mark.OfferKey = model.OfferKey{CapacityType: model.Spot}
	case group != nil:
		mark.PlacementGroup = group.ID
	}
	return mark, mark.OfferKey != model.OfferKey{} || mark.SubnetID != "" || mark.Reservation != ""
}

// spreadLimit reports whether an error says that a group of strategy spread has as many machines in the zone as it takes:
// of no type any more. EC2 has no code of its own for it. Source: EC2 user guide, placement groups, seven running
// instances for each zone.
func spreadLimit(group *model.PlacementGroup, e model.LaunchError) bool {
	return group.Strategy == strategySpread && scopes[e.Code] == scopeOffer && strings.Contains(strings.ToLower(e.Message), "placement group")
}
