package ec2catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

const recommended = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"

// standardImage is the image a class with the alias al2023@latest has for ordinary x86 instances.
func standardImage(t *testing.T, status model.ClassStatus) model.Image {
	t.Helper()
	for _, i := range status.Images {
		if len(i.Requirements) == 3 && i.Requirements[2].Values[0] == "amd64" {
			return i
		}
	}
	t.Fatalf("no such image among %+v", status.Images)
	return model.Image{}
}

// NC-05: a name alone could be anybody's, so that it is looked for among the account's own and Amazon's images.
func TestNC05NameTermWithoutOwnerAsksForSelfAndAmazon(t *testing.T) {
	r := start(t)
	own := r.ec2.AddImage(catalog.Image{Name: "same-1", Architecture: catalog.X86_64}, nil)
	amazons := r.ec2.AddImage(catalog.Image{Name: "same-2", Architecture: catalog.X86_64, OwnerID: "602401143452", OwnerAlias: "amazon"}, nil)
	others := r.ec2.AddImage(catalog.Image{Name: "same-3", Architecture: catalog.X86_64, OwnerID: "999999999999"}, nil)
	cases := map[string]struct {
		term model.SelectorTerm
		want []string
	}{
		"name":           {model.SelectorTerm{Name: "same-*"}, []string{own, amazons}},
		"name and owner": {model.SelectorTerm{Name: "same-*", Owner: "999999999999"}, []string{others}},
		"by id":          {model.SelectorTerm{ID: others}, []string{others}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, i := range resolve(t, r, class(func(cl *model.Class) { cl.Images = []model.SelectorTerm{c.term} })).Images {
				got[i.ID] = true
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for _, id := range c.want {
				if !got[id] {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

// AM-03: a pinned alias resolves to other images when the cluster is upgraded.
func TestAM03UpgradeChangesTheImages(t *testing.T) {
	r := start(t)
	pinned := class(func(c *model.Class) { c.Images = []model.SelectorTerm{{Alias: "al2023@v20251120"}} })
	for _, version := range []string{"1.35", "1.36"} {
		images := resolveAt(t, r, pinned, version).Images
		if len(images) != 5 {
			t.Errorf("%s: %+v", version, images)
		}
		for _, i := range images {
			if !strings.Contains(i.Name, "-"+version+"-v20251120") {
				t.Errorf("%s: %s", version, i.Name)
			}
		}
	}
}

// AM-04: a release that is taken back is left as soon as its image is deprecated, not when the parameter is next due.
func TestAM04ParameterOfADeprecatedImageIsReadAnew(t *testing.T) {
	r := start(t)
	bad := r.ec2.AddImage(catalog.Image{Name: "bad", Architecture: catalog.X86_64, DeprecatedAt: r.clock.Now().Add(12 * time.Minute)}, nil)
	good := r.ec2.AddImage(catalog.Image{Name: "good", Architecture: catalog.X86_64}, nil)
	r.ssm.Put(recommended, bad)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != bad || i.Deprecated {
		t.Fatalf("got %+v", i)
	}
	r.ssm.Put(recommended, good)
	r.clock.Advance(10 * time.Minute)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != bad {
		t.Errorf("a parameter ten minutes old was read again: %+v", i)
	}
	before := r.CountOf("ssm", "GetParameter").Requests
	r.clock.Advance(2 * time.Minute)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != good {
		t.Errorf("the image is still %+v", i)
	}
	if n := r.CountOf("ssm", "GetParameter").Requests - before; n != 1 {
		t.Errorf("%d parameters were read anew, want the one", n)
	}
}

// AM-04: what stays deprecated is not asked about in every batch, and what cannot be asked about stays.
func TestAM04DoubtIsBoundedAndNoEvidence(t *testing.T) {
	r := start(t)
	bad := r.ec2.AddImage(catalog.Image{Name: "bad", Architecture: catalog.X86_64, DeprecatedAt: r.clock.Now().Add(-time.Minute)}, nil)
	r.ssm.Put(recommended, bad)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != bad || !i.Deprecated {
		t.Fatalf("got %+v", i)
	}
	before := r.CountOf("ssm", "GetParameter").Requests
	for range 4 {
		r.clock.Advance(time.Minute)
		resolve(t, r, class(nil))
	}
	if n := r.CountOf("ssm", "GetParameter").Requests - before; n != 0 {
		t.Errorf("%d readings in four minutes", n)
	}
	mend := r.fail("ssm", "", "ThrottlingException")
	r.clock.Advance(time.Minute)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != bad {
		t.Errorf("got %+v", i)
	}
	mend()
	r.ssm.Delete(recommended)
	good := r.ec2.AddImage(catalog.Image{Name: "good", Architecture: catalog.X86_64}, nil)
	r.ssm.Put(recommended, good)
	if i := standardImage(t, resolve(t, r, class(nil))); i.ID != good {
		t.Errorf("the doubt was forgotten: %+v", i)
	}
}

// AM-04: a parameter that names one release for ever is not asked again because that release is old.
func TestAM04PinnedParametersAreBelieved(t *testing.T) {
	r := start(t)
	pinned := class(func(c *model.Class) { c.Images = []model.SelectorTerm{{Alias: "al2023@v20250519"}} })
	resolve(t, r, pinned)
	before := r.CountOf("ssm", "GetParameter").Requests
	r.clock.Advance(20 * time.Minute)
	for _, i := range resolve(t, r, pinned).Images {
		if !i.Deprecated {
			t.Errorf("%+v is not deprecated", i)
		}
	}
	if n := r.CountOf("ssm", "GetParameter").Requests - before; n != 0 {
		t.Errorf("%d parameters were read anew", n)
	}
}

func TestOwnParameterIsGoodForFiveMinutes(t *testing.T) {
	r := start(t)
	add := func(name string) string {
		return r.ec2.AddImage(catalog.Image{Name: name, Architecture: catalog.X86_64}, nil)
	}
	first, second := add("one"), add("two")
	own := class(func(c *model.Class) { c.Images = []model.SelectorTerm{{SSMParameter: "/images/golden"}} })
	r.ssm.Put("/images/golden", first)
	resolve(t, r, own)
	r.ssm.Put("/images/golden", second)
	r.clock.Advance(4 * time.Minute)
	if got := resolve(t, r, own).Images[0].ID; got != first {
		t.Errorf("after four minutes: %s", got)
	}
	r.clock.Advance(time.Minute)
	if got := resolve(t, r, own).Images[0].ID; got != second {
		t.Errorf("after five minutes: %s", got)
	}
}
