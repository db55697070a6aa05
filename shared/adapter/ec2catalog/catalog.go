package ec2catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/model"
)

// Clients are the services read from. Pricing's region is one of the few that have the API, see PricingRegion.
type Clients struct {
	EC2     *ec2.Client
	IAM     *iam.Client
	Pricing *pricing.Client
	SSM     *ssm.Client
}

// Settings are the region and how long what was read is good. Zero durations mean the defaults.
type Settings struct {
	Region       string
	TypesEvery   time.Duration    // machine types, offers and on-demand prices: 12 h
	SpotEvery    time.Duration    // spot prices: 10 min
	ImagesEvery  time.Duration    // parameters that name images: 30 min
	ResolveEvery time.Duration    // what a class resolved to without a problem: 1 min
	RetryAfter   time.Duration    // after a failed refresh: 1 min
	Now          func() time.Time // time.Now
}

// Catalog is one region seen with one cluster's rights. It is safe for concurrent use.
type Catalog struct {
	clients  Clients
	settings Settings

	mutex      sync.Mutex
	facts      facts
	spot       spotPrices
	version    model.MachineCatalog // built from facts and spot
	parameters map[string]parameter
	resolved   map[string]resolved // by UID and generation
}

// facts changes rarely: types, where they are offered, what they cost on demand.
type facts struct {
	readAt, triedAt time.Time
	types           []model.MachineType
	offered         map[string][]string // zones by instance type, sorted
	zoneIDs         map[string]string   // by zone
	onDemand        map[string]model.MicroUSD
}

type spotPrices struct {
	readAt, triedAt time.Time
	prices          map[typeZone]model.MicroUSD // nil = never read
}

type typeZone struct{ instanceType, zone string }

// New returns a catalogue that has read nothing yet.
func New(clients Clients, settings Settings) *Catalog {
	duration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	duration(&settings.TypesEvery, 12*time.Hour)
	duration(&settings.SpotEvery, 10*time.Minute)
	duration(&settings.ImagesEvery, 30*time.Minute)
	duration(&settings.ResolveEvery, time.Minute)
	duration(&settings.RetryAfter, time.Minute)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Catalog{clients: clients, settings: settings, parameters: map[string]parameter{}, resolved: map[string]resolved{}}
}

// Types returns every machine type of the region, by name. It reads what is too old first; where that fails, the older
// facts are returned with their own time, and an error only where there are none.
func (c *Catalog) Types(ctx context.Context) (model.MachineCatalog, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.settings.Now()
	var factsErr, spotErr error
	var group sync.WaitGroup
	refreshFacts := c.due(c.facts.readAt, c.facts.triedAt, now, c.settings.TypesEvery)
	refreshSpot := c.due(c.spot.readAt, c.spot.triedAt, now, c.settings.SpotEvery)
	if refreshFacts {
		group.Go(func() { factsErr = c.readFacts(ctx, now) })
	}
	if refreshSpot {
		group.Go(func() { spotErr = c.readSpot(ctx, now) })
	}
	group.Wait()
	if c.facts.types == nil {
		if factsErr == nil {
			factsErr = fmt.Errorf("the last try failed less than %s ago", c.settings.RetryAfter)
		}
		return model.MachineCatalog{}, fmt.Errorf("read machine types of %s: %w", c.settings.Region, factsErr)
	}
	if refreshFacts && factsErr == nil || refreshSpot && spotErr == nil {
		c.version = c.join()
	}
	return c.version, nil
}

// due reports whether something read at readAt must be read again, and was not tried in vain a moment ago.
func (c *Catalog) due(readAt, triedAt, now time.Time, every time.Duration) bool {
	if readAt.Equal(triedAt) {
		return readAt.IsZero() || now.Sub(readAt) >= every
	}
	return now.Sub(triedAt) >= c.settings.RetryAfter
}

// join puts offers on the machine types.
func (c *Catalog) join() model.MachineCatalog {
	joined := model.MachineCatalog{ReadUnix: c.facts.readAt.Unix(), Types: make([]model.MachineType, len(c.facts.types))}
	for i, machine := range c.facts.types {
		machine.Offers = nil
		for _, zone := range c.facts.offered[machine.Name] {
			for _, usage := range machine.UsageClasses { // sorted: on-demand, spot
				offer := model.Offer{Zone: zone, ZoneID: c.facts.zoneIDs[zone], CapacityType: usage, Available: true}
				if usage == model.Spot {
					offer.Price = c.spotPrice(machine.Name, zone)
				} else {
					offer.Price = c.facts.onDemand[machine.Name]
				}
				offer.Available = offer.Price > 0 // what has no price is not bought blindly
				machine.Offers = append(machine.Offers, offer)
			}
		}
		joined.Types[i] = machine
	}
	text, err := json.Marshal(joined.Types)
	if err != nil {
		panic(fmt.Sprintf("machine types cannot be encoded: %v", err)) // plain data always can
	}
	digest := sha256.Sum256(text)
	joined.Version = hex.EncodeToString(digest[:8])
	return joined
}

// spotPrice is the spot price, 0 where there is none. Until prices were first read it is the on-demand price, so that a
// region whose price history cannot be read can still launch.
func (c *Catalog) spotPrice(instanceType, zone string) model.MicroUSD {
	if c.spot.prices == nil {
		return c.facts.onDemand[instanceType]
	}
	return c.spot.prices[typeZone{instanceType, zone}]
}
