package rights

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// A3: the trial launch of a node class is allowed by the policies that ship however EC2 lays a request over its launch template, and
// whichever condition keys it has of what the template alone says. A class that lets machines do without tokens is refused in any case.
func TestA3TrialLaunchIsAllowedUnderBothReadings(t *testing.T) {
	doubts := []string{reading.RunInstancesTags, reading.RunInstancesParameters, reading.RunInstancesMetadataKeys}
	for others := range 1 << len(doubts) {
		reads := reading.Strict(append(reading.Delays(), doubts...)...)
		var taken []string
		for i, id := range doubts {
			if others&(1<<i) != 0 {
				taken = append(taken, id)
			}
		}
		for name, tokens := range map[string]string{"required": "", "optional": "UnauthorizedOperation"} {
			t.Run(name+"/"+reads.With(taken...).String(), func(t *testing.T) {
				s := shippedAs(t, reads.With(taken...))
				class, known, fleet := s.class(), s.catalog("catalog"), s.fleet("catalog")
				class.PlacementGroup, class.Metadata.HTTPTokens = nil, name
				queries, err := image.Queries(class, "1.36")
				s.check("queries", err)
				class.InstanceProfile = "its-own"
				class.Status, err = known.ResolveParts(t.Context(), class, queries)
				s.check("examine a class", err)
				launch := s.launch(class, "trial", model.OnDemand)
				request, err := fleet.PrepareRequest(t.Context(), launch)
				s.check("make a launch template to try", err)
				err = fleet.DryRun(t.Context(), launch, request, launch.Templates[0].Overrides[0].SubnetID)
				if fault.CodeOf(err) != tokens {
					t.Errorf("try a launch: %v, want %q", err, tokens)
				}
			})
		}
	}
}
