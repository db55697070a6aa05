package arcshift

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ARC is the zonal shifts of an account and region.
type ARC struct{ client *arczonalshift.Client }

// New returns ARC as the client sees it.
func New(client *arczonalshift.Client) *ARC { return &ARC{client: client} }

// ZonalShifts returns the zonal shifts and autoshifts that are applied to a cluster, one for each zone and by zone. An
// UntilUnix of 0 says that ARC does not say when one ends. managed is false where zonal shifts are not enabled for the
// cluster. An expired shift is returned as it is: the clock is the caller's.
//
// Source: ARC API reference, GetManagedResource: of several shifts in progress those of status APPLIED are in effect.
func (a *ARC) ZonalShifts(ctx context.Context, reg model.Registration) (shifts []model.ZonalShift, managed bool,
	err error) {
	if reg.ARN == "" { // a cluster that EKS does not run
		return nil, false, nil
	}
	out, err := a.client.GetManagedResource(ctx, &arczonalshift.GetManagedResourceInput{ResourceIdentifier: &reg.ARN})
	if sdkerr.Code(err) == "ResourceNotFoundException" {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, sdkerr.Wrap(err, kindOf, "read the zonal shifts of cluster %s", reg.Cluster)
	}
	for _, s := range out.ZonalShifts {
		if s.AppliedStatus == types.AppliedStatusApplied {
			shift := model.ZonalShift{ZoneID: aws.ToString(s.AwayFrom)}
			if s.StartTime != nil {
				shift.SinceUnix = s.StartTime.Unix()
			}
			if s.ExpiryTime != nil {
				shift.UntilUnix = s.ExpiryTime.Unix()
			}
			shifts = append(shifts, shift)
		}
	}
	for _, s := range out.Autoshifts {
		if s.AppliedStatus == types.AutoshiftAppliedStatusApplied {
			shift := model.ZonalShift{ZoneID: aws.ToString(s.AwayFrom), Auto: true}
			if s.StartTime != nil {
				shift.SinceUnix = s.StartTime.Unix()
			}
			shifts = append(shifts, shift)
		}
	}
	return onePerZone(shifts), true, nil
}

// onePerZone keeps of the shifts of a zone the one that lasts longest; what has no end lasts longer than what has one.
func onePerZone(shifts []model.ZonalShift) []model.ZonalShift {
	ends := func(s model.ZonalShift) int64 {
		if s.UntilUnix == 0 {
			return 1 << 62
		}
		return s.UntilUnix
	}
	slices.SortFunc(shifts, func(a, b model.ZonalShift) int {
		return cmp.Or(strings.Compare(a.ZoneID, b.ZoneID), cmp.Compare(ends(b), ends(a)))
	})
	return slices.CompactFunc(shifts, func(a, b model.ZonalShift) bool { return a.ZoneID == b.ZoneID })
}

func kindOf(code string) fault.Kind {
	switch code {
	case "ThrottlingException", "TooManyRequestsException":
		return fault.Throttled
	case "AccessDeniedException", "AccessDenied", "UnrecognizedClientException", "InvalidSignatureException",
		"ExpiredTokenException":
		return fault.Denied
	case "ValidationException":
		return fault.Invalid
	}
	return fault.Internal
}
