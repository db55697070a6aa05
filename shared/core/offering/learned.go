package offering

import "github.com/joiner-sh/joiner/shared/model"

// learned returns the memory nodes of a type were seen to have with a set of images, in MiB; false where nothing is known. A
// new set of images starts anew: its kernel may keep more for itself.
func learned(list []model.Learned, images string, nowUnix int64) (mib int64, known bool) {
	for _, l := range list {
		if images != "" && l.Images == images && l.MiB > 0 && !l.Forgotten(nowUnix) {
			return l.MiB, true
		}
	}
	return 0, false
}
