package userdata

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// release of Bottlerocket.
type release struct{ major, minor, patch int64 }

var (
	firstWithCommands    = release{1, 22, 0} // bootstrap commands and apiclient ephemeral-storage
	firstWithDefaultDirs = release{1, 46, 0} // bind without --dirs moves all that belongs onto the array
	newest               = release{math.MaxInt64, 0, 0}
)

func (r release) less(other release) bool {
	switch {
	case r.major != other.major:
		return r.major < other.major
	case r.minor != other.minor:
		return r.minor < other.minor
	}
	return r.patch < other.patch
}

func (r release) String() string { return fmt.Sprintf("%d.%d.%d", r.major, r.minor, r.patch) }

// inName finds a release in the name of an image, such as bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-ec9c5f1d.
var inName = regexp.MustCompile(`(?:^|[^0-9A-Za-z.])v([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:[^0-9.]|$)`)

// releaseOf returns the release of Bottlerocket that boots, as far as anything tells: the image's own name, the alias,
// a term's name, the image a term names by id, and the oldest of the images the class resolved to. known is false where
// nothing does.
func releaseOf(in Input) (r release, known bool) {
	if r, known = releaseIn(in.ImageName); known {
		return r, true
	}
	for _, term := range in.Class.Images {
		if _, version, isAlias := strings.Cut(term.Alias, "@"); isAlias {
			if version == "latest" {
				return newest, true
			}
			return releaseIn("v" + strings.TrimPrefix(version, "v"))
		}
	}
	for _, term := range in.Class.Images {
		if r, known = releaseIn(term.Name); known {
			return r, true
		}
	}
	return releaseOfImages(in.Class)
}

func releaseOfImages(class model.Class) (oldest release, known bool) {
	named := map[string]bool{}
	for _, term := range class.Images {
		named[term.ID] = term.ID != ""
	}
	for _, byID := range []bool{true, false} {
		for _, image := range class.Status.Images {
			r, ok := releaseIn(image.Name)
			if ok && (named[image.ID] || !byID) && (!known || r.less(oldest)) {
				oldest, known = r, true
			}
		}
		if known {
			break
		}
	}
	return oldest, known
}

func releaseIn(name string) (release, bool) {
	found := inName.FindStringSubmatch(name)
	if found == nil {
		return release{}, false
	}
	var numbers [3]int64
	for i := range numbers {
		numbers[i], _ = strconv.ParseInt(found[i+1], 10, 64) // nine digits always fit
	}
	return release{numbers[0], numbers[1], numbers[2]}, true
}
