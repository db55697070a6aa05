package conform

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// farUnix is a time no test lives to see.
const farUnix = int64(4_000_000_000)

func markKeepsLonger(t *testing.T, b book) {
	offering := model.OfferingKey{InstanceType: "m7g.large", Zone: "us-west-2a", CapacityType: model.Spot}
	b.must(b.MarkUnavailable(b.ctx(), ledgerWeb, []model.UnavailableOffering{
		{OfferingKey: offering, UntilUnix: farUnix, Reason: "InsufficientInstanceCapacity"},
		{OfferingKey: offering, UntilUnix: farUnix - 60, Reason: "UnfulfillableCapacity"},
		{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, UntilUnix: 1, Reason: "long over"},
	}))
	kept := b.load().UnavailableOfferings
	if len(kept) != 1 || kept[0].OfferingKey != offering || kept[0].UntilUnix != farUnix || kept[0].Reason != "InsufficientInstanceCapacity" {
		t.Fatalf("%+v", kept)
	}
	b.must(b.MarkUnavailable(b.ctx(), ledgerWeb, []model.UnavailableOffering{{OfferingKey: offering, UntilUnix: farUnix + 60, Reason: "again"}}))
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0].UntilUnix != farUnix+60 {
		t.Errorf("%+v", kept)
	}
	for name, reg := range map[string]model.Registration{
		"shop in the same region": {Cluster: "shop", Account: ledgerWeb.Account, Region: ledgerWeb.Region},
		"shop in another region":  {Cluster: "shop", Account: ledgerWeb.Account, Region: "eu-west-1"},
		"shop of another account": {Cluster: "shop", Account: "999999999999", Region: ledgerWeb.Region},
	} {
		seen, err := b.Load(b.ctx(), reg)
		if same := reg.Account == ledgerWeb.Account && reg.Region == ledgerWeb.Region; err != nil || (len(seen.UnavailableOfferings) == 1) != same {
			t.Errorf("%s sees %+v, %v", name, seen.UnavailableOfferings, err)
		}
	}
}

func markOfSubnet(t *testing.T, b book) {
	b.must(b.MarkUnavailable(b.ctx(), ledgerWeb, []model.UnavailableOffering{
		{SubnetID: "subnet-1", UntilUnix: farUnix, Reason: "InsufficientFreeAddressesInSubnet"},
		{SubnetID: "subnet-2", UntilUnix: farUnix, Reason: "InsufficientFreeAddressesInSubnet"},
		{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, UntilUnix: farUnix, Reason: "MaxSpotInstanceCountExceeded"},
	}))
	if kept := b.load().UnavailableOfferings; len(kept) != 3 {
		t.Errorf("%+v", kept)
	}
}

// point moves the pointer, whatever was said of the one before.
func (b book) point(manifest model.Manifest) error {
	_, err := b.AdvanceManifest(b.ctx(), manifest)
	return err
}

// heartbeat says that the watcher of web lives.
func (b book) heartbeat(epoch, unix int64) error {
	_, err := b.Heartbeat(b.ctx(), "web", epoch, unix)
	return err
}

func manifestMovesOn(t *testing.T, b book) {
	if p, err := b.Manifest(b.ctx(), "web"); b.load().Manifest != nil || p != nil || err != nil {
		t.Errorf("a pointer before any watcher: %+v, %v", p, err)
	}
	first, err := b.NextEpoch(b.ctx(), "web", "a")
	b.must(err)
	second, err := b.NextEpoch(b.ctx(), "web", "b")
	if err != nil || second <= first || first < 1 {
		t.Fatalf("epochs %d, %d, %v", first, second, err)
	}
	at := func(epoch, head int64) error {
		return b.point(model.Manifest{Cluster: "web", Epoch: epoch, HeadSeq: head, SnapshotKey: "k", HeartbeatAt: ledgerBegin})
	}
	b.must(at(first, 5))
	b.must(at(second, 1))
	b.want(fault.Conflict, "a deposed watcher", at(first, 9))
	b.must(at(second, 3))
	b.must(at(second, 3)) // the same again
	b.want(fault.Conflict, "going back", at(second, 2))
	if p := b.load().Manifest; p == nil || p.Epoch != second || p.HeadSeq != 3 || p.SnapshotKey != "k" || p.HeartbeatAt != ledgerBegin {
		t.Errorf("pointer %+v", p)
	}
	if p, err := b.Manifest(b.ctx(), "web"); err != nil || p == nil || p.Epoch != second || p.HeadSeq != 3 {
		t.Errorf("read alone: %+v, %v", p, err)
	}
	if p, err := b.Manifest(b.ctx(), "shop"); err != nil || p != nil {
		t.Errorf("of another cluster: %+v, %v", p, err)
	}
}

func heartbeatIsNewest(t *testing.T, b book) {
	b.want(fault.NotFound, "without a pointer", b.heartbeat(1, ledgerBegin))
	b.must(b.point(model.Manifest{Cluster: "web", Epoch: 2, HeadSeq: 1, HeartbeatAt: ledgerBegin}))
	b.want(fault.Conflict, "of an older epoch", b.heartbeat(1, ledgerBegin+5))
	b.must(b.heartbeat(2, ledgerBegin+9))
	if p := b.load().Manifest; p.HeartbeatAt != ledgerBegin+9 || p.HeadSeq != 1 {
		t.Errorf("pointer %+v", p)
	}
}

func registryKnows(t *testing.T, b book) {
	_, err := b.Cluster(b.ctx(), "web")
	b.want(fault.NotFound, "a cluster nobody attached", err)
	for _, name := range []string{"web", "shop", "web"} {
		reg := ledgerWeb
		reg.Cluster, reg.Paused = name, name == "shop"
		b.must(b.Register(b.ctx(), reg))
	}
	all, err := b.Clusters(b.ctx())
	if err != nil || len(all) != 2 || all[0].Cluster != "shop" || !all[0].Paused || string(all[1].CA) != "pem" {
		t.Errorf("%+v %v", all, err)
	}
	if one, err := b.Cluster(b.ctx(), "web"); err != nil || one.Account != ledgerWeb.Account || one.Paused {
		t.Errorf("%+v %v", one, err)
	}
}

func markOfReservationAndPlacementGroup(t *testing.T, b book) {
	offering := ledgerOutOfCapacity(1, farUnix)
	grouped := offering
	grouped.PlacementGroup = "pg-1"
	other := offering
	other.PlacementGroup = "pg-2"
	unavailableOfferings := []model.UnavailableOffering{
		offering, grouped, other,
		{Reservation: "cr-1", UntilUnix: farUnix, Reason: "ReservationCapacityExceeded"},
		{Reservation: "cr-2", UntilUnix: farUnix, Reason: "ReservationCapacityExceeded"},
	}
	b.mark(unavailableOfferings...)
	stored := map[model.UnavailableOffering]bool{}
	for _, unavailable := range b.load().UnavailableOfferings {
		stored[unavailable.About()] = true
	}
	for _, unavailable := range unavailableOfferings {
		if !stored[unavailable.About()] {
			t.Errorf("%+v is not stored beside the others: %+v", unavailable, stored)
		}
	}
}
