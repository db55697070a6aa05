package referee

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	price "github.com/aws/aws-sdk-go-v2/service/pricing"
	corev1 "k8s.io/api/core/v1"
	corecloudprovider "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/aws/karpenter-provider-aws/pkg/fake"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	"github.com/aws/karpenter-provider-aws/pkg/providers/pricing"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// TestA62InstanceTypesAreKarpenters: what every instance type holds, what of it is overhead, its labels and its prices, of classes that change
// any of these, as Karpenter makes them of the same answers of EC2.
func TestA62InstanceTypesAreKarpenters(t *testing.T) {
	var found []Difference
	names := []string{"al2023", "windows", "kubelet", "bottlerocket", "public", "disks", "interfaces", "reserved"}
	if testing.Short() {
		names = names[:2]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s := Open(t)
			scenario := s.Scenario(name)
			k := s.Karpenter(scenario)
			theirs := k.Types(k.Try())
			s.Apply(scenario)
			ours := s.types(t)
			for _, name := range slices.Sorted(maps.Keys(theirs)) {
				if windows := strings.HasPrefix(scenario.Name, "windows"); windows && neverLaunched(theirs[name], ours[name]) {
					continue // Windows runs on amd64 alone
				}
				if ours[name] == nil {
					found = append(found, Difference{scenario.Name + " / " + name, "only Karpenter has it"})
					continue
				}
				found = append(found, Compare(scenario.Name+" / "+name, theirType(theirs[name]), ourType(ours[name]))...)
			}
			for _, name := range slices.Sorted(maps.Keys(ours)) {
				if theirs[name] == nil {
					found = append(found, Difference{scenario.Name + " / " + name, "only we have it"})
				}
			}
			t.Logf("%d types", len(theirs))
		})
	}
	Evaluate(t, "machines", found)
}

// types are the instance types that our planner makes of the class, by name.
func (s *Site) types(t *testing.T) map[string]*model.InstanceType {
	t.Helper()
	s.Try()
	ledger, err := s.World.Ledger.Load(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := s.Catalog("provision").InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configuration, err := s.World.Cluster.Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	class := configuration.Classes[0].Class
	class.Status = offering.Latest(class, ledger.Classes)
	out := map[string]*model.InstanceType{}
	for _, it := range offering.Catalog(catalog.Types, class, offering.Settings{Region: s.Region(), NowUnix: s.World.Clock.Now().Unix()}) {
		out[it.Name] = &it
	}
	return out
}

// neverLaunched reports whether nothing is launched of a type: theirs has no operating system, ours nothing available.
func neverLaunched(theirs *corecloudprovider.InstanceType, ours *model.InstanceType) bool {
	return theirs.Requirements.Get(corev1.LabelOSStable).Len() == 0 && !slices.ContainsFunc(ours.Offerings, func(o model.Offering) bool { return o.Available })
}

func theirType(it *corecloudprovider.InstanceType) Flat {
	out := Flat{}
	put := func(path string, list corev1.ResourceList) {
		for name, quantity := range list {
			amount := quantity.Value()
			if name == corev1.ResourceCPU {
				amount = quantity.MilliValue()
			}
			if amount != 0 {
				out[path+" / "+string(name)] = fmt.Sprint(amount)
			}
		}
	}
	put("capacity", it.Capacity)
	put("overhead", it.Overhead.Total())
	for key, r := range it.Requirements {
		if values := r.Values(); len(values) > 0 {
			sort.Strings(values)
			out["label / "+key] = strings.Join(values, ",")
		}
	}
	for _, o := range it.Offerings {
		if o.Available && o.Price != math.MaxFloat64 {
			out["price / "+o.CapacityType()+" / "+o.Zone()] = fmt.Sprintf("%.4f", o.Price)
		}
	}
	return out
}

func ourType(it *model.InstanceType) Flat {
	out := Flat{}
	for path, amounts := range map[string]model.Resources{"capacity": it.Capacity, "overhead": it.Overhead} {
		for name, amount := range amounts {
			if amount != 0 {
				out[path+" / "+name] = fmt.Sprint(amount)
			}
		}
	}
	for key, values := range it.Labels {
		out["label / "+key] = strings.Join(values, ",")
	}
	for i := range it.Offerings {
		if o := &it.Offerings[i]; o.Available {
			out["price / "+o.CapacityType+" / "+o.Zone] = fmt.Sprintf("%.4f", o.Price.USD())
		}
	}
	return out
}

// TestA62GeneratedTables: interfaces, addresses, branch interfaces and bandwidth of every instance type that Karpenter's generated tables and what
// we read of EC2 both have.
func TestA62GeneratedTables(t *testing.T) {
	s := Open(t)
	catalog, err := s.Catalog("provision").InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []Difference
	differ := func(where string, theirs, ours any) {
		if theirs != ours {
			found = append(found, Difference{where, fmt.Sprintf("theirs %v, ours %v", theirs, ours)})
		}
	}
	both := 0
	for i := range catalog.Types {
		m := &catalog.Types[i]
		limits := instancetype.Limits[m.Name]
		if limits == nil {
			found = append(found, Difference{m.Name, "Karpenter's table of limits has it not"})
			continue
		}
		both++
		differ(m.Name+" / addresses of an interface", int64(limits.IPv4PerInterface), m.IPv4PerInterface)
		differ(m.Name+" / interfaces of the default card", limits.NetworkCards[limits.DefaultNetworkCardIndex].MaximumNetworkInterfaces, m.Interfaces)
		if bandwidth, known := instancetype.InstanceTypeBandwidthMegabits[m.Name]; known {
			differ(m.Name+" / bandwidth", bandwidth, m.NetworkMbps)
		}
	}
	if both < 800 {
		t.Errorf("%d types are in both tables, want at least 800", both)
	}
	for _, name := range slices.Sorted(maps.Keys(instancetype.Limits)) {
		branches := int64(0)
		if limits := instancetype.Limits[name]; limits.IsTrunkingCompatible {
			branches = int64(limits.BranchInterface)
		}
		differ(name+" / branch interfaces", branches, ec2catalog.BranchInterfaces(name))
	}
	t.Logf("%d types of %d are in both, %d have limits", both, len(catalog.Types), len(instancetype.Limits))
	Evaluate(t, "tables", found)
}

// TestA62Prices: the list prices that are built in, and what is estimated where the price list cannot be read, beside those Karpenter has built
// in. A list price may be half a percent off, since most are of a rate per vCPU, and an estimate a tenth.
func TestA62Prices(t *testing.T) {
	theirs := pricing.InitialOnDemandPricesAWS["us-east-1"] // the only region there; us-west-2 costs the same
	var found []Difference
	for what, ours := range map[string]map[string]model.MicroUSD{"list": onDemand(t, ec2catalog.Settings{Region: "us-west-2"}), "estimate": onDemand(t, ec2catalog.Settings{Region: "us-west-2", Isolated: true})} {
		both := 0
		for _, name := range slices.Sorted(maps.Keys(ours)) {
			price, known := theirs[types.InstanceType(name)]
			if !known {
				continue
			}
			both++
			got := ours[name].USD()
			if most := map[string]float64{"list": 0.005, "estimate": 0.1}[what]; math.Abs(got-price) > most*price {
				found = append(found, Difference{what + " / " + name, fmt.Sprintf("theirs %.4f, ours %.4f, %+.0f%%", price, got, 100*(got-price)/price)})
			}
		}
		if both < 700 {
			t.Errorf("%d types have a price in both, want at least 700", both)
		}
		t.Logf("%s: %d types have a price in both", what, both)
	}
	Evaluate(t, "prices", found)
}

// onDemand returns what machines cost on demand, by type.
func onDemand(t *testing.T, settings ec2catalog.Settings) map[string]model.MicroUSD {
	t.Helper()
	s := Open(t)
	config := s.Config()
	known := ec2catalog.New(ec2catalog.Clients{EC2: ec2.NewFromConfig(config), Pricing: price.NewFromConfig(config)}, settings)
	catalog, err := known.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]model.MicroUSD{}
	for i := range catalog.Types {
		for _, o := range catalog.Types[i].Offerings {
			if o.CapacityType == model.OnDemand {
				out[catalog.Types[i].Name] = o.Price
			}
		}
	}
	return out
}

// TestA62DescribedTypes: what our model of EC2 says of the types whose answers of EC2 Karpenter has recorded, field by field.
func TestA62DescribedTypes(t *testing.T) {
	recorded, err := fake.NewEC2API().DescribeInstanceTypes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Open(t)
	client := ec2.NewFromConfig(s.Config())
	var found []Difference
	both := 0
	for _, info := range recorded.InstanceTypes {
		out, err := client.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{info.InstanceType}})
		if err != nil {
			found = append(found, Difference{string(info.InstanceType), "our model does not sell it"})
			continue
		}
		both++
		theirs, ours := structure(t, info), structure(t, out.InstanceTypes[0])
		for name := range ours {
			if _, kept := theirs[name]; !kept || theirs[name] == "" {
				delete(theirs, name) // the record has only what Karpenter reads
				delete(ours, name)
			}
		}
		found = append(found, Compare(string(info.InstanceType), theirs, ours)...)
	}
	if both < 15 {
		t.Errorf("%d types are in both, want at least 15", both)
	}
	t.Logf("%d types of %d are in both", both, len(recorded.InstanceTypes))
	Evaluate(t, "described", found)
}

// structure flattens a structure of the SDK.
func structure(t *testing.T, value any) Flat {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return flattenAny(plain)
}
