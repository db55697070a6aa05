package offering

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// ClassProblem says why nothing may be launched from a class, and "" where something may.
func ClassProblem(class model.Class) string {
	var why []string
	why = append(why, class.Unsupported...)
	for _, problem := range slices.Concat(class.Invalid, class.Status.Problems) {
		if !problem.Stops() {
			continue
		}
		if text := problem.Condition + ": " + problem.Message; !slices.Contains(why, text) { // the status may say the same
			why = append(why, text)
		}
	}
	if class.DeletedUnix != 0 {
		why = append(why, "it is being deleted")
	}
	return strings.Join(why, "; ")
}

// Latest returns the newest that is known of what a class resolves to: the catalog function's record, which also says what
// the object's status does not, or else the status itself.
func Latest(class model.Class, records []model.ClassRecord) model.ClassStatus {
	if record := Recorded(class, records); record != nil && record.Status.ResolvedUnix >= class.Status.ResolvedUnix {
		return record.Status
	}
	return class.Status
}

// Recorded returns the catalog function's record of a class as it is now, nil where there is none of this generation.
func Recorded(class model.Class, records []model.ClassRecord) *model.ClassRecord {
	for i := range records {
		record := &records[i]
		if record.Name == class.Name && record.UID == class.UID && record.Status.ObservedGeneration == class.Generation && record.Status.ResolvedUnix != 0 {
			return record
		}
	}
	return nil
}

// Ages from which parts of a catalog are called stale: what the catalog function reads again after ten minutes or twelve
// hours, and some patience. A stale catalog is used, and everything that was decided by it says so.
const (
	staleTypes = 13 * time.Hour
	staleSpot  = 30 * time.Minute
)

// Use says which catalog is decided by at nowUnix, and what of it is older than it should be, or stands in for what was
// never read.
func Use(source string, catalog model.InstanceCatalog, nowUnix int64) model.CatalogUse {
	use := model.CatalogUse{
		Source: source, Version: catalog.Version, ReadUnix: catalog.ReadUnix, PriceUnix: catalog.PriceUnix, SpotUnix: catalog.SpotUnix,
	}
	age := func(unix int64) time.Duration { return time.Duration(nowUnix-unix) * time.Second }
	if age := age(catalog.ReadUnix); age > staleTypes {
		use.Stale = append(use.Stale, fmt.Sprintf("instance types are %s old", age))
	}
	if catalog.PriceUnix == 0 {
		use.Stale = append(use.Stale, "on-demand prices were never read: a built-in table is used")
	} else if age := age(catalog.PriceUnix); age > staleTypes {
		use.Stale = append(use.Stale, fmt.Sprintf("on-demand prices are %s old", age))
	}
	if catalog.SpotUnix == 0 {
		use.Stale = append(use.Stale, "spot prices were never read: on-demand prices are used")
	} else if age := age(catalog.SpotUnix); age > staleSpot {
		use.Stale = append(use.Stale, fmt.Sprintf("spot prices are %s old", age))
	}
	return use
}
