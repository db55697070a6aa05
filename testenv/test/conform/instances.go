package conform

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// InstancesPort is where instance catalogs are kept for every function.
type InstancesPort interface {
	catalog.Catalogs
	port.RegionCatalogs
	// Spoil replaces what is stored by something nobody can read.
	Spoil(reg model.Registration)
}

// Instances is the contract of that place. start returns an empty one for each case.
func Instances(t *testing.T, start func(t *testing.T) InstancesPort) {
	for name, rule := range map[string]func(rack){
		"a catalogue comes back as it went in":                    cacheKeeps,
		"it is replaced on condition of what was read":            cacheNeedsRevision,
		"of many writers at once one wins":                        cacheTakesOne,
		"accounts and regions are apart, clusters of one are not": cacheKeepsApart,
		"what is not there is NotFound":                           cacheMisses,
		"what nobody can read is Invalid and can be replaced":     cacheHeals,
		"what cannot be stored is refused":                        cacheRefuses,
	} {
		t.Run(name, func(t *testing.T) { rule(rack{start(t), t}) })
	}
}

type rack struct {
	InstancesPort
	t *testing.T
}

// cacheCatalog is a small catalog that was read at a time.
func cacheCatalog(readUnix int64) model.InstanceCatalog {
	return model.InstanceCatalog{ReadUnix: readUnix, PriceUnix: readUnix - 5, SpotUnix: readUnix + 5, TriedUnix: readUnix + 7, Version: "v", Types: []model.InstanceTypeInfo{{
		Name: "m5.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Cards: []int64{3, 3}, UsageClasses: []string{model.OnDemand, model.Spot},
		LearnedMiB: []model.Learned{{Images: "a", MiB: 7700, SeenUnix: readUnix}},
		Offerings: []model.Offering{
			{Zone: "us-west-2a", ZoneID: "usw2-az1", CapacityType: model.OnDemand, Price: 96_000, Available: true},
			{Zone: "us-west-2a", ZoneID: "usw2-az1", CapacityType: model.Spot},
		},
	}}}
}

func (s rack) read(reg model.Registration) (model.InstanceCatalog, string) {
	s.t.Helper()
	got, revision, err := s.Read(s.t.Context(), reg)
	if err != nil || revision == "" {
		s.t.Fatalf("revision %q, %v", revision, err)
	}
	return got, revision
}

func (s rack) write(reg model.Registration, c model.InstanceCatalog, revision string) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), reg, c, revision); err != nil {
		s.t.Fatal(err)
	}
}

func cacheKeeps(s rack) {
	want := cacheCatalog(ledgerBegin)
	s.write(ledgerWeb, want, "")
	for range 2 {
		if got, _ := s.read(ledgerWeb); !reflect.DeepEqual(got, want) {
			s.t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if got, err := s.RegionCatalog(s.t.Context(), ledgerWeb); err != nil || !reflect.DeepEqual(got, want) {
		s.t.Errorf("got  %+v %v\nwant %+v", got, err, want)
	}
}

func cacheNeedsRevision(s rack) {
	s.write(ledgerWeb, cacheCatalog(1), "")
	if err := s.Write(s.t.Context(), ledgerWeb, cacheCatalog(2), ""); !fault.Is(err, fault.Conflict) {
		s.t.Errorf("as if there were none: %v", err)
	}
	_, first := s.read(ledgerWeb)
	s.write(ledgerWeb, cacheCatalog(3), first)
	if err := s.Write(s.t.Context(), ledgerWeb, cacheCatalog(4), first); !fault.Is(err, fault.Conflict) {
		s.t.Errorf("on condition of what was replaced: %v", err)
	}
	if got, second := s.read(ledgerWeb); got.ReadUnix != 3 || second == first {
		s.t.Errorf("stored is %d at revision %q, after %q", got.ReadUnix, second, first)
	}
	if err := s.Write(s.t.Context(), ledgerShop, cacheCatalog(5), first); !fault.Is(err, fault.Conflict) {
		s.t.Errorf("on condition of something where nothing is: %v", err)
	}
}

// ledgerShop is of another account.
var ledgerShop = model.Registration{Cluster: "shop", Account: "210987654321", Region: Region}

func cacheTakesOne(s rack) {
	s.write(ledgerWeb, cacheCatalog(1), "")
	_, revision := s.read(ledgerWeb)
	var won atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := s.Write(s.t.Context(), ledgerWeb, cacheCatalog(int64(10+i)), revision)
			switch {
			case err == nil:
				won.Add(1)
			case !fault.Is(err, fault.Conflict):
				s.t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		s.t.Errorf("%d won", won.Load())
	}
}

func cacheKeepsApart(s rack) {
	elsewhere, unnamed, sister := ledgerWeb, ledgerWeb, ledgerWeb
	elsewhere.Region, unnamed.Account, sister.Cluster = "eu-west-1", "", "sister"
	for i, reg := range []model.Registration{ledgerWeb, ledgerShop, elsewhere, unnamed} {
		s.write(reg, cacheCatalog(int64(i+1)), "")
	}
	for i, reg := range []model.Registration{ledgerWeb, ledgerShop, elsewhere, unnamed} {
		if got, _ := s.read(reg); got.ReadUnix != int64(i+1) {
			s.t.Errorf("%s in %s has that of %d", reg.Account, reg.Region, got.ReadUnix)
		}
	}
	if got, _ := s.read(sister); got.ReadUnix != 1 {
		s.t.Errorf("another cluster of account and region has that of %d", got.ReadUnix)
	}
}

func cacheMisses(s rack) {
	if _, revision, err := s.Read(s.t.Context(), ledgerWeb); !fault.Is(err, fault.NotFound) || revision != "" {
		s.t.Errorf("read: %q %v", revision, err)
	}
	if _, err := s.RegionCatalog(s.t.Context(), ledgerWeb); !fault.Is(err, fault.NotFound) {
		s.t.Errorf("machines: %v", err)
	}
}

func cacheHeals(s rack) {
	s.write(ledgerWeb, cacheCatalog(1), "")
	s.Spoil(ledgerWeb)
	_, revision, err := s.Read(s.t.Context(), ledgerWeb)
	if !fault.Is(err, fault.Invalid) || revision == "" {
		s.t.Fatalf("%q %v", revision, err)
	}
	s.write(ledgerWeb, cacheCatalog(2), revision)
	if got, _ := s.read(ledgerWeb); got.ReadUnix != 2 {
		s.t.Errorf("stored is that of %d", got.ReadUnix)
	}
}

func cacheRefuses(s rack) {
	twice := cacheCatalog(1)
	twice.Types = append(twice.Types, twice.Types[0])
	if err := s.Write(s.t.Context(), ledgerWeb, twice, ""); !fault.Is(err, fault.Invalid) {
		s.t.Errorf("a type twice: %v", err)
	}
	cacheMisses(s)
}
