package conform

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// learnKeepsLeast: IT-04. What one cluster learns is known to all of its account and region.
func learnKeepsLeast(t *testing.T, b book) {
	learned := func(name, images string, mib, seen int64) model.LearnedOf {
		return model.LearnedOf{InstanceType: name, Learned: model.Learned{Images: images, MiB: mib, SeenUnix: seen}}
	}
	other := ledgerWeb
	other.Cluster = "shop"
	want := func(reg model.Registration, now int64, want ...model.LearnedOf) {
		t.Helper()
		if got, err := b.Learned(b.ctx(), reg, now); err != nil || !slices.Equal(got, want) {
			t.Errorf("got  %+v %v\nwant %+v", got, err, want)
		}
	}
	want(ledgerWeb, farUnix)
	for _, l := range []model.LearnedOf{
		learned("m5.large", "a", 7700, farUnix), learned("m5.large", "a", 7680, farUnix+10), // less counts
		learned("m5.large", "a", 7690, farUnix+20), // more does not, nor is it a sign of the less
		learned("m5.large", "b", 7710, farUnix), learned("c5.large", "a", 3800, farUnix),
	} {
		b.must(b.Learn(b.ctx(), other, l))
	}
	c5, m5a, m5b := learned("c5.large", "a", 3800, farUnix), learned("m5.large", "a", 7680, farUnix+10), learned("m5.large", "b", 7710, farUnix)
	want(ledgerWeb, farUnix+30, c5, m5a, m5b)
	// The same again is seen later; an older sight of it is not.
	b.must(b.Learn(b.ctx(), ledgerWeb, learned("m5.large", "b", 7710, farUnix+100)))
	b.must(b.Learn(b.ctx(), ledgerWeb, learned("m5.large", "b", 7710, farUnix+50)))
	m5b.SeenUnix = farUnix + 100
	want(ledgerWeb, farUnix+model.LearnedForSeconds-1, c5, m5a, m5b)
	want(ledgerWeb, farUnix+model.LearnedForSeconds, m5a, m5b)
	want(ledgerWeb, farUnix+model.LearnedForSeconds+50, m5b)
	// What was forgotten by then does not stand against more memory.
	late := learned("m5.large", "a", 7800, farUnix+10+model.LearnedForSeconds)
	b.must(b.Learn(b.ctx(), ledgerWeb, late))
	want(ledgerWeb, late.SeenUnix, late, m5b)
	elsewhere := ledgerWeb
	elsewhere.Region = "eu-west-1"
	want(elsewhere, farUnix)
	if loaded := b.load(); len(loaded.UnavailableOfferings)+len(loaded.Claims) != 0 {
		t.Errorf("planners load what was learned as something else: %+v", loaded)
	}
}
