package provision

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestLA18FirstMatchClassifiesAnError(t *testing.T) {
	tests := []struct{ code, message, want string }{
		{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role", "SpotSLRCreationFailed"},
		{"AuthFailure", "Not authorized for images: [ami-1]", "AMIAuthorizationFailure"},
		{"UnauthorizedOperation", "You are not authorized to perform this operation. with an explicit deny in a permissions boundary", "Unauthorized"},
		{"AccessDenied", "with an explicit deny in a service control policy", "Unauthorized"},
		{"AuthFailure", "credentials", "Unauthorized"},
		{"InvalidParameter", "Security group sg-1 and subnet subnet-1 belong to different networks.", "SecurityGroupSubnetVPCMismatch"},
		{"InvalidParameterValue", "Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", "InstanceProfileNameInvalid"},
		{"InvalidLaunchTemplateId.NotFound", "", "LaunchTemplateNotFound"},
		{"InvalidLaunchTemplateName.NotFoundException", "", "LaunchTemplateNotFound"},
		{"InvalidParameterValue", "User data is limited to 16384 bytes", "UserDataSizeLimitExceeded"},
		{"UserDataSizeLimitExceeded", "", "UserDataSizeLimitExceeded"},
		{"InvalidAMIID.Malformed", "", "InvalidAMIID"},
		{"InvalidAMIID.NotFound", "", "AMINotFound"},
		{"RequestLimitExceeded", "", "RequestLimitExceeded"},
		{"InternalError", "", "InternalError"},
		{"InvalidParameterCombination", "The specified instance type is not eligible for Free Tier.", "FreeTierIneligible"},
		{"MaxFleetCountExceeded", "", "FleetQuotaExceeded"},
		{"PendingVerification", "", "AccountPendingVerification"},
		{"MaxSpotInstanceCountExceeded", "", "SpotQuotaExceeded"},
		{"VcpuLimitExceeded", "", "VCPULimitExceeded"},
		{"InsufficientFreeAddressesInSubnet", "", "InsufficientFreeAddressesInSubnet"},
		{"InsufficientInstanceCapacity", "", "LaunchFailed"},
		{"InvalidParameterValue", "the tags are malformed", "LaunchFailed"},
		{"", "", "LaunchFailed"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if got := reasonOf(test.code, test.message); got != test.want {
			t.Errorf("%s: %s is %s, want %s", test.code, test.message, got, test.want)
		}
		seen[test.want] = true
	}
	for _, r := range reasons {
		if !seen[r.reason] {
			t.Errorf("nothing is tried that is %s", r.reason)
		}
	}
}

// What an error says is marked where it is true, and nowhere else.
func TestIC01IC02IC04IC05ErrorsMakeWhatTheyNameUnavailable(t *testing.T) {
	pool := model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}
	reserved := model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Reserved}
	plain := model.Launch{CapacityType: model.Spot}
	into := model.Launch{CapacityType: model.Reserved, Templates: []model.LaunchTemplate{
		{Reservation: "cr-1", Overrides: []model.Override{{InstanceType: "m5.large", Zone: "a"}}},
		{Reservation: "cr-2", Overrides: []model.Override{{InstanceType: "m5.large", Zone: "b"}}},
	}}
	grouped := func(launch model.Launch, strategy string) model.Launch {
		launch.Class.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: strategy}
		return launch
	}
	limit := "the spread placement group pg-1 has its maximum of 7 running instances in a"
	tests := []struct {
		name   string
		launch model.Launch
		error  model.LaunchError
		want   []model.UnavailableOffering
	}{
		{"no capacity", plain, model.LaunchError{Code: "InsufficientInstanceCapacity", Offering: pool}, []model.UnavailableOffering{{OfferingKey: pool}}},
		{"no addresses", plain, model.LaunchError{Code: "InsufficientFreeAddressesInSubnet", Offering: pool, SubnetID: "s-1"}, []model.UnavailableOffering{{SubnetID: "s-1"}}},
		{"no role for spot", plain, model.LaunchError{Code: "AuthFailure.ServiceLinkedRoleCreationNotPermitted", Offering: pool}, []model.UnavailableOffering{{OfferingKey: model.OfferingKey{CapacityType: model.Spot}}}},
		{"throttled", plain, model.LaunchError{Code: "RequestLimitExceeded", Offering: pool}, nil},
		{"wrong", plain, model.LaunchError{Code: "InvalidParameterValue", Offering: pool}, nil},
		{"no capacity in a cluster group", grouped(plain, "cluster"), model.LaunchError{Code: "InsufficientInstanceCapacity", Offering: pool}, []model.UnavailableOffering{{OfferingKey: pool, PlacementGroup: "pg-1"}}},
		{"no capacity in a spread group", grouped(plain, "spread"), model.LaunchError{Code: "InsufficientInstanceCapacity", Offering: pool}, []model.UnavailableOffering{{OfferingKey: pool, PlacementGroup: "pg-1"}}},
		{"a spread group is full", grouped(plain, "spread"), model.LaunchError{Code: "InsufficientInstanceCapacity", Message: limit, Offering: pool},
			[]model.UnavailableOffering{{OfferingKey: model.OfferingKey{Zone: "a"}, PlacementGroup: "pg-1"}}},
		{"no addresses in a group", grouped(plain, "cluster"), model.LaunchError{Code: "InsufficientFreeAddressesInSubnet", Offering: pool, SubnetID: "s-1"}, []model.UnavailableOffering{{SubnetID: "s-1"}}},
		{"the account's limit in a group", grouped(plain, "cluster"), model.LaunchError{Code: "VcpuLimitExceeded", Offering: pool},
			[]model.UnavailableOffering{{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, Group: "standard"}}},
		{"the reservation is full", into, model.LaunchError{Code: "ReservationCapacityExceeded", Offering: reserved}, []model.UnavailableOffering{{Reservation: "cr-1"}}},
		{"no capacity for a reservation", into, model.LaunchError{Code: "InsufficientInstanceCapacity", Offering: reserved}, []model.UnavailableOffering{{Reservation: "cr-1"}}},
		{"reserved, no addresses", into, model.LaunchError{Code: "InsufficientFreeAddressesInSubnet", Offering: reserved, SubnetID: "s-1"}, []model.UnavailableOffering{{SubnetID: "s-1"}}},
		{"reserved, throttled", into, model.LaunchError{Code: "RequestLimitExceeded", Offering: reserved}, nil},
		{"reserved, a spread group is full", grouped(into, "spread"), model.LaunchError{Code: "InsufficientInstanceCapacity", Message: limit, Offering: reserved}, nil},
		{"reserved, in a launch nobody knows any more", model.Launch{}, model.LaunchError{Code: "ReservationCapacityExceeded", Offering: reserved}, []model.UnavailableOffering{{OfferingKey: reserved}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := unavailableOf(test.launch, []model.LaunchError{test.error, test.error})
			for i := range got {
				if got[i].Reason != test.error.Code {
					t.Errorf("reason %s", got[i].Reason)
				}
				got[i].Reason = ""
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("marks %+v, want %+v", got, test.want)
			}
		})
	}
}
