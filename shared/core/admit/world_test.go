package admit

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// instance is sold on demand at price and as spot at half of it, in zones a and b of us-west-2.
func instance(name, arch string, vcpus int64, price model.MicroUSD, change func(*model.InstanceTypeInfo)) model.InstanceTypeInfo {
	m := model.InstanceTypeInfo{Name: name, Arch: arch, VCPUs: vcpus, MemoryMiB: vcpus * 4096, Hypervisor: "nitro", CPUManufacturer: "intel",
		Interfaces: 4, IPv4PerInterface: 15, UsageClasses: []string{model.OnDemand, model.Spot}}
	for _, zone := range []string{"us-west-2a", "us-west-2b"} {
		m.Offerings = append(m.Offerings, model.Offering{Zone: zone, ZoneID: "usw2-az" + zone[len(zone)-1:], CapacityType: model.OnDemand, Price: price, Available: true},
			model.Offering{Zone: zone, ZoneID: "usw2-az" + zone[len(zone)-1:], CapacityType: model.Spot, Price: price / 2, Available: true})
	}
	if change != nil {
		change(&m)
	}
	return m
}

func instances() []model.InstanceTypeInfo {
	return []model.InstanceTypeInfo{
		instance("c6g.large", "arm64", 2, 68_000, nil),
		instance("m5.4xlarge", "amd64", 16, 768_000, nil),
		instance("m5.large", "amd64", 2, 96_000, nil),
		instance("m5.metal", "amd64", 96, 4_608_000, func(m *model.InstanceTypeInfo) { m.BareMetal, m.Hypervisor = true, "" }),
		instance("p3.2xlarge", "amd64", 8, 3_060_000, func(m *model.InstanceTypeInfo) { m.GPUCount, m.GPUName, m.GPUManufacturer = 1, "v100", "nvidia" }),
	}
}

func readyClass(name string) model.Class {
	return model.Class{Name: name, Family: "AL2023", Status: model.ClassStatus{Subnets: []model.Subnet{{ID: "subnet-a", Zone: "us-west-2a", ZoneID: "usw2-aza"}}}}
}

func known() Facts {
	return Facts{InstanceTypes: instances(), Settings: offering.Settings{Region: "us-west-2"}, Objects: true, Classes: []model.Class{readyClass("default")}}
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func ref[T any](value T) *T { return &value }

// plain is a pool nothing is to be said of but what matches.
func plain(change func(*model.Pool)) *model.Pool {
	pool := &model.Pool{
		Name: "web", Limits: model.Resources{model.CPU: 100_000}, Hash: "1",
		Template: model.Template{ClassName: "default", ExpireAfterSeconds: ref(int64(720 * 3600)), Requirements: []model.Requirement{
			in(model.LabelArch, "amd64"), in(model.LabelCapacityType, model.OnDemand), in("karpenter.k8s.aws/instance-category", "m", "c"),
		}},
		Disruption: model.Disruption{Policy: "Balanced", ConsolidateAfterSeconds: ref(int64(300)), Budgets: []model.Budget{{Nodes: "10%"}}},
	}
	if change != nil {
		change(pool)
	}
	return pool
}

// require puts requirements in the place of those the plain pool has.
func require(list ...model.Requirement) func(*model.Pool) {
	return func(p *model.Pool) { p.Template.Requirements = list }
}

func create(pool *model.Pool, k Facts) model.Verdict {
	return Evaluate(model.Admission{Operation: model.OperationCreate, Pool: pool}, k)
}

// said fails where no finding is what is wanted: its line begins so, and says each of the other parts.
func said(t *testing.T, found []model.Finding, begins string, parts ...string) {
	t.Helper()
	var lines []string
	for _, f := range found {
		line := f.String()
		lines = append(lines, line)
		ok := strings.HasPrefix(line, begins)
		for _, part := range parts {
			ok = ok && strings.Contains(line, part)
		}
		if ok {
			return
		}
	}
	t.Errorf("nothing begins with %q and says %q; what is said:\n%s", begins, parts, strings.Join(lines, "\n"))
}

// silent fails where a finding names part.
func silent(t *testing.T, found []model.Finding, part string) {
	t.Helper()
	for _, f := range found {
		if strings.Contains(f.String(), part) {
			t.Errorf("%s", f)
		}
	}
}
