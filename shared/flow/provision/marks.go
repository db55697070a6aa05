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
func everyPool(launch model.Launch, code string) []model.LaunchError {
	var errors []model.LaunchError
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			errors = append(errors, model.LaunchError{
				Code: code, SubnetID: o.SubnetID,
				Offer: model.OfferKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: launch.CapacityType},
			})
		}
	}
	return errors
}

// marksOf turns a launch's errors into marks without times. One mark per offer, subnet, quota group or capacity type, in
// the order of the errors.
func marksOf(errors []model.LaunchError) []model.Mark {
	var marks []model.Mark
	seen := map[model.Mark]bool{}
	for _, e := range errors {
		mark := model.Mark{OfferKey: e.Offer, Reason: e.Code}
		switch scopes[e.Code] {
		case scopeNone:
			continue
		case scopeGroup:
			mark.Group = offer.QuotaGroup(e.Offer.InstanceType)
			mark.OfferKey = model.OfferKey{CapacityType: e.Offer.CapacityType}
		case scopeCapacityType:
			mark.OfferKey = model.OfferKey{CapacityType: e.Offer.CapacityType}
		case scopeSpot:
			mark.OfferKey = model.OfferKey{CapacityType: model.Spot}
		case scopeSubnet:
			mark.OfferKey, mark.SubnetID = model.OfferKey{}, e.SubnetID
		}
		if (mark.OfferKey == model.OfferKey{} && mark.SubnetID == "") || seen[mark.About()] {
			continue // the error names nothing that could be avoided
		}
		seen[mark.About()] = true
		marks = append(marks, mark)
	}
	return marks
}
