package offer

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// forgetAfter is how long what was learned of a type holds without being seen again, in seconds.
const forgetAfter = 60 * 24 * 3600

// learned returns the memory nodes of a type were seen to have with a set of images, in MiB; false where nothing is known. A
// new set of images starts anew: its kernel may keep more for itself.
func learned(list []model.Learned, images string, nowUnix int64) (mib int64, known bool) {
	for _, l := range list {
		if images != "" && l.Images == images && l.MiB > 0 && !forgotten(&l, nowUnix) {
			return l.MiB, true
		}
	}
	return 0, false
}

func forgotten(l *model.Learned, nowUnix int64) bool {
	return l.SeenUnix != 0 && nowUnix-l.SeenUnix > forgetAfter
}

// Learn returns list, by images, with what a node showed at nowUnix: the least memory that was ever seen is kept for each set
// of images, so that no pod is planned onto a node that turns out too small, and a node with that much keeps it from being
// forgotten. What was not seen for 60 days is dropped. list stays as it was; changed says whether the result is worth storing.
func Learn(list []model.Learned, images string, memoryBytes, nowUnix int64) (out []model.Learned, changed bool) {
	seen := model.Learned{Images: images, MiB: memoryBytes / mib, SeenUnix: nowUnix}
	known := false
	for _, l := range list {
		switch {
		case forgotten(&l, nowUnix):
			changed = true
			continue
		case l.Images == images:
			known = true
			if better := seen.MiB > 0 && seen.MiB < l.MiB; better || seen.MiB == l.MiB && nowUnix-l.SeenUnix >= refreshAfter {
				l, changed = seen, true
			}
		}
		out = append(out, l)
	}
	if !known && images != "" && seen.MiB > 0 {
		out, changed = append(out, seen), true
	}
	slices.SortStableFunc(out, func(a, b model.Learned) int { return strings.Compare(a.Images, b.Images) })
	return out, changed
}

// refreshAfter is how old a sighting must be before the same amount is worth another write, in seconds.
const refreshAfter = 24 * 3600
