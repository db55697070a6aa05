package account

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/core/offering"
)

// vcpuQuotas are the codes of the quotas that count vCPUs, by quota group, on demand and spot. Source: Service Quotas,
// Amazon EC2, "Running On-Demand … instances" and "All … Spot Instance Requests".
var vcpuQuotas = map[string]struct{ onDemand, spot string }{
	"standard": {"L-1216C47A", "L-34B43A08"}, "g": {"L-DB2E81BA", "L-3819A6DF"}, "p": {"L-417A185B", "L-7212CCBC"},
	"x": {"L-7295265B", "L-E3A00192"}, "f": {"L-74FC7D96", "L-88CF9481"}, "inf": {"L-1945791B", "L-B5D1601B"},
	"trn": {"L-2C3B7624", "L-6B0D517C"}, "dl": {"L-6E869C2A", "L-85EED4F7"}, "u": {"L-43DA4232", ""},
	"hpc": {"L-F7808C92", ""},
}

const nearQuota = 0.8 // of a quota; from here on it is said

// running is how many vCPUs run of a quota group, bought in one way.
type running struct {
	group string
	spot  bool
}

func (r running) String() string {
	if r.spot {
		return r.group + " spot"
	}
	return r.group + " on-demand"
}

// LeastVCPUs is how many vCPUs of standard instances should be left before anything is deployed: a new account may have
// one or five.
const LeastVCPUs = 16

// QuotasBefore looks at what may be launched before anything is: beside what Quotas says, whether there is room for a
// few instances, and which families an account may not launch at all.
func (a *Account) QuotasBefore(ctx context.Context) ([]check.Finding, error) {
	limits, use, err := a.vcpus(ctx)
	if err != nil {
		return nil, err
	}
	found := checkQuotas(limits, use, LeastVCPUs)
	var none []string
	for _, group := range slices.Sorted(maps.Keys(vcpuQuotas)) {
		for _, way := range []running{{group, false}, {group, true}} {
			if limit, known := limits[way.code()]; known && limit == 0 && group != "standard" {
				none = append(none, way.String())
			}
		}
	}
	if len(none) > 0 {
		found = append(found, check.Finding{Level: check.OK, Seen: "the account has a quota of 0 for " +
			strings.Join(none, ", ") + "; request a higher quota if NodePools should use them"})
	}
	return found, nil
}

// Quotas compares the vCPUs that run in account and region with what may run. Standard instances are looked at even
// where none runs.
func (a *Account) Quotas(ctx context.Context) ([]check.Finding, error) {
	limits, use, err := a.vcpus(ctx)
	if err != nil {
		return nil, err
	}
	return checkQuotas(limits, use, 0), nil
}

// vcpus are the account's quotas by code, and what runs.
func (a *Account) vcpus(ctx context.Context) (map[string]float64, map[running]int64, error) {
	limits, err := vcpuLimits(ctx, servicequotas.NewFromConfig(a.Config))
	if err != nil {
		return nil, nil, err
	}
	use, err := vcpusRunning(ctx, ec2.NewFromConfig(a.Config))
	return limits, use, err
}

// code is Service Quotas' of a group of instances; "" where it has none.
func (r running) code() string {
	if r.spot {
		return vcpuQuotas[r.group].spot
	}
	return vcpuQuotas[r.group].onDemand
}

// checkQuotas evaluates what runs of each group, and of standard instances whether at least so many vCPUs are left.
func checkQuotas(limits map[string]float64, use map[running]int64, left float64) []check.Finding {
	var found []check.Finding
	for _, group := range slices.Sorted(maps.Keys(vcpuQuotas)) {
		for _, way := range []running{{group, false}, {group, true}} {
			limit, known := limits[way.code()]
			if !known || use[way] == 0 && group != "standard" {
				continue
			}
			f := checkQuota(way, way.code(), use[way], limit)
			if f.Level == check.OK && group == "standard" && limit-float64(use[way]) < left {
				f.Level, f.Do = check.Warn, increase(way.code(), limit)
			}
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return check.One(check.Warn, "Service Quotas returns no quota of vCPUs",
			"check the Service Quotas console: without one nothing can be launched")
	}
	return found
}

// increase is the command that asks for twice a quota.
func increase(code string, limit float64) string {
	return fmt.Sprintf(
		"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code %s --desired-value %.0f",
		code, max(64, math.Ceil(limit*2)))
}

func checkQuota(what running, code string, vcpus int64, limit float64) check.Finding {
	seen := fmt.Sprintf("%s: %d of %.0f vCPUs run", what, vcpus, limit)
	do := increase(code, limit)
	switch {
	case float64(vcpus) >= limit:
		return check.Finding{Level: check.Fail, Object: "vCPUs", Seen: seen + ": no more of it can be launched", Do: do}
	case float64(vcpus) >= limit*nearQuota:
		return check.Finding{Level: check.Warn, Object: "vCPUs", Seen: seen, Do: do}
	}
	return check.Finding{Level: check.OK, Object: "vCPUs", Seen: seen}
}

// vcpuLimits are the account's quotas of EC2 by code.
func vcpuLimits(ctx context.Context, client *servicequotas.Client) (map[string]float64, error) {
	out := map[string]float64{}
	pages := servicequotas.NewListServiceQuotasPaginator(client,
		&servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.Quotas {
			out[aws.ToString(page.Quotas[i].QuotaCode)] = aws.ToFloat64(page.Quotas[i].Value)
		}
	}
	return out, nil
}

// vcpusRunning counts the vCPUs of the account's instances, whoever runs them. It asks for a page at a time, of the
// most that EC2 takes: a list that is not asked for in pages may be throttled or time out (Amazon EC2 API reference,
// DescribeInstances).
func vcpusRunning(ctx context.Context, client *ec2.Client) (map[running]int64, error) {
	counts := map[running]map[string]int64{} // instances by type
	pages := ec2.NewDescribeInstancesPaginator(client, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}, MaxResults: aws.Int32(1000)})
	var types []ec2types.InstanceType
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				name := string(reservation.Instances[i].InstanceType)
				way := running{offering.QuotaGroup(name),
					reservation.Instances[i].InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot}
				if counts[way] == nil {
					counts[way] = map[string]int64{}
				}
				if counts[way][name]++; counts[way][name] == 1 {
					types = append(types, reservation.Instances[i].InstanceType)
				}
			}
		}
	}
	vcpus, err := vcpusOf(ctx, client, types)
	if err != nil {
		return nil, err
	}
	out := map[running]int64{}
	for way, instances := range counts {
		for name, n := range instances {
			out[way] += n * vcpus[name]
		}
	}
	return out, nil
}

// vcpusOf are the vCPUs of instance types.
func vcpusOf(ctx context.Context, client *ec2.Client, types []ec2types.InstanceType) (map[string]int64, error) {
	const atOnce = 100 // of DescribeInstanceTypes
	out := map[string]int64{}
	for len(types) > 0 {
		n := min(atOnce, len(types))
		page, err := client.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: types[:n]})
		if err != nil {
			return nil, err
		}
		for i := range page.InstanceTypes {
			if info := page.InstanceTypes[i].VCpuInfo; info != nil {
				out[string(page.InstanceTypes[i].InstanceType)] = int64(aws.ToInt32(info.DefaultVCpus))
			}
		}
		types = types[n:]
	}
	return out, nil
}
