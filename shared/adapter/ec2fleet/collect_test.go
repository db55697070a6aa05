package ec2fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// launched launches n instances of an intent and waits until EC2 shows them.
func (r *region) launched(t *testing.T, intent string, n int) []string {
	t.Helper()
	claims := []string{"a", "b", "c", "d"}[:n]
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, intent, model.OnDemand, claims...)))
	if err != nil || len(result.Instances) != n {
		t.Fatalf("%+v %v", result, err)
	}
	r.clock.Advance(6 * time.Second)
	return ids(result)
}

func (r *region) untag(t *testing.T, id, key string) {
	t.Helper()
	_, err := r.fleet.client.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String(key)}}})
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(6 * time.Second)
}

func instanceIDs(instances []model.Instance) []string {
	var out []string
	for _, i := range instances {
		out = append(out, i.ID)
	}
	return out
}

// S3: what lacks one of the three tags is not ours.
func TestCT01OwnedNeedsAllThreeTagsAndSaysSinceWhen(t *testing.T) {
	r := start(t)
	all := r.launched(t, "01A", 4)
	for i, key := range []string{"kubernetes.io/cluster/web", model.LabelNodePool, TagIntent} {
		r.untag(t, all[i], key)
	}
	owned, err := r.fleet.Owned(t.Context(), "web")
	if err != nil || !slices.Equal(instanceIDs(owned), all[3:]) {
		t.Errorf("%v %v, want %v", instanceIDs(owned), err, all[3:])
	}
	if owned[0].Tags[TagIntent] != "01A" || owned[0].LaunchedUnix == 0 || owned[0].State == "" {
		t.Errorf("%+v", owned[0])
	}
	if others, err := r.fleet.Owned(t.Context(), "shop"); err != nil || len(others) != 0 {
		t.Errorf("another cluster's: %v %v", others, err)
	}
	// Nor is it ended, whoever asks for it.
	ended, err := r.fleet.Terminate(t.Context(), "web", all)
	if err != nil || !slices.Equal(ended, all[3:]) {
		t.Errorf("terminated %v %v, want %v", ended, err, all[3:])
	}
	if ended, err := r.fleet.Terminate(t.Context(), "shop", all); err != nil || len(ended) != 0 {
		t.Errorf("another cluster's: %v %v", ended, err)
	}
}

// R20, R21, R66: ids that are blank, asked for twice or unknown do no harm to the others.
func TestLA13DescribeLeavesOutWhatEC2DoesNotShow(t *testing.T) {
	r := start(t)
	all := r.launched(t, "01A", 2)
	r.untag(t, all[0], "kubernetes.io/cluster/web") // also what is not ours any more
	asked := []string{all[1], all[0], "i-0123456789abcdef0", "", all[1]}
	found, err := r.fleet.DescribeInstances(t.Context(), asked)
	want := slices.Sorted(slices.Values(all))
	if err != nil || !slices.Equal(instanceIDs(found), want) {
		t.Errorf("%v %v, want %v", instanceIDs(found), err, want)
	}
	if found, err := r.fleet.DescribeInstances(t.Context(), []string{""}); err != nil || len(found) != 0 {
		t.Errorf("of a blank id: %v %v", found, err)
	}
}

func TestLA13TerminateMayBeRepeated(t *testing.T) {
	r := start(t)
	all := r.launched(t, "01A", 3)
	for _, want := range [][]string{all, nil} {
		ended, err := r.fleet.Terminate(t.Context(), "web", append([]string{"i-0123456789abcdef0"}, all...))
		if err != nil || !slices.Equal(ended, want) {
			t.Errorf("%v %v, want %v", ended, err, want)
		}
	}
	r.clock.Advance(time.Minute)
	owned, err := r.fleet.Owned(t.Context(), "web")
	if err != nil || len(owned) != 3 {
		t.Fatalf("%v %v", owned, err)
	}
	for _, i := range owned {
		if i.State != "terminated" {
			t.Errorf("%s is %s", i.ID, i.State)
		}
	}
}
