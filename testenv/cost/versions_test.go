package cost

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// What docs/architecture/records.md says of versions of a region's machine catalog: a new one each ten minutes, since spot prices are read again that often and
// hardly ever are all what they were.
const (
	versionsADay    = 24 * time.Hour / (10 * time.Minute)
	versionBytes    = 37_000 // of 820 types in six zones
	keptForDays     = 32
	saidMBADay      = 5.3
	saidMBKept      = 170
	tolerated       = 0.1
	bytesOfMegabyte = 1e6
)

// The catalog that is built in, as if its region had six zones, with spot prices of which each check finds a third changed by up to a tenth.
func TestVersionsOfTheCatalogTakeWhatIsSaid(t *testing.T) {
	region, err := catalogfile.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	region = region.WithZones([]string{"eu-west-1a", "eu-west-1b", "eu-west-1c", "eu-west-1d", "eu-west-1e", "eu-west-1f"})
	catalog := model.InstanceCatalog{Types: slices.Clone(region.InstanceTypes), ReadUnix: 1_772_366_400, PriceUnix: 1_772_366_400, Version: "0123456789abcdef"}
	draws := rand.New(rand.NewPCG(1, 2))
	total := 0
	for i := range int(versionsADay) {
		catalog.SpotUnix = catalog.ReadUnix + int64(i)*600
		for j := range catalog.Types {
			offerings := slices.Clone(catalog.Types[j].Offerings)
			for k := range offerings {
				if offerings[k].CapacityType == model.Spot && draws.IntN(3) == 0 {
					offerings[k].Price = offerings[k].Price * model.MicroUSD(90+draws.IntN(21)) / 100 / 100 * 100 // AWS tells hundredths of a cent
				}
			}
			catalog.Types[j].Offerings = offerings
		}
		data, err := wire.EncodeCatalog(&catalog)
		if err != nil {
			t.Fatal(err)
		}
		total += len(data)
	}
	near := func(what string, got, said float64) {
		if got < said*(1-tolerated) || got > said*(1+tolerated) {
			t.Errorf("%s: %.4g, and %.4g is said", what, got, said)
		}
	}
	t.Logf("%d versions of %d types: %d bytes", versionsADay, len(catalog.Types), total)
	near("bytes of a version", float64(total)/float64(versionsADay), versionBytes)
	near("MB a day", float64(total)/bytesOfMegabyte, saidMBADay)
	near("MB kept", float64(total)*keptForDays/bytesOfMegabyte, saidMBKept)
}
