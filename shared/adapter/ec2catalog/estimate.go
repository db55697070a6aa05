package ec2catalog

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/shared/model"
)

//go:embed rates.txt
var ratesText string

// rates are micro-USD per vCPU and hour by family ("m5") and, where a size differs, by type ("m5.metal").
var rates = sync.OnceValue(func() map[string]int64 {
	perVCPU := map[string]int64{}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("rates.txt: %q is not a rate", text)) // our own file, read by every test
		}
		return n
	}
	for line := range strings.Lines(ratesText) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		perVCPU[words[0]] = number(words[1])
		for _, exception := range words[2:] {
			size, rate, _ := strings.Cut(exception, "=")
			perVCPU[words[0]+"."+size] = number(rate)
		}
	}
	return perVCPU
})

// Of a family that rates.txt does not list: what a vCPU and a GiB cost in the general families, of which c, m and r
// differ by their memory alone, and how much less ARM costs.
const (
	vcpuMicroUSD   = 37_000
	gibMicroUSD    = 3_000
	armPercent     = 80
	regionStandard = 125 // percent of us-east-1's prices, where no factor is known
)

// regionPercents are what m5.large costs in a region, in percent of us-east-1 (public price list, March 2026). By the
// longest prefix that matches.
var regionPercents = map[string]int64{
	"us-east-": 100, "us-west-2": 100, "us-west-1": 117, "us-gov-": 126, "ca-": 111, "eu-west-1": 111, "eu-west-2": 116,
	"eu-west-3":    117,
	"eu-central-1": 120, "eu-north-1": 106, "eu-south-1": 117, "ap-southeast-1": 125, "ap-southeast-2": 125,
	"ap-northeast-1": 129,
	"ap-northeast-2": 123, "ap-northeast-3": 129, "ap-south-1": 105, "ap-east-1": 138, "me-south-1": 123,
	"af-south-1": 132, "sa-east-1": 159,
}

// estimate is about what a type costs on demand per hour in a region whose price list was not read: right in order, and
// within some percent where the family is listed. 0 where it is too different from what is known to be guessed, which
// are instances with accelerators of a family that is not listed. It is in USD in every region.
func estimate(m *model.InstanceTypeInfo, region string) model.MicroUSD {
	family, _, _ := strings.Cut(m.Name, ".")
	perHour := rates()[family] * m.VCPUs
	if rate, differs := rates()[m.Name]; differs {
		perHour = rate * m.VCPUs
	}
	if perHour == 0 {
		if m.GPUCount > 0 || m.NeuronCount > 0 {
			return 0
		}
		perHour = vcpuMicroUSD*m.VCPUs + gibMicroUSD*m.MemoryMiB/1024
		if m.Arch == "arm64" {
			perHour = perHour * armPercent / 100
		}
	}
	return model.MicroUSD(perHour * regionPercent(region) / 100)
}

func regionPercent(region string) int64 {
	percent, longest := int64(regionStandard), 0
	for prefix, known := range regionPercents {
		if strings.HasPrefix(region, prefix) && len(prefix) > longest {
			percent, longest = known, len(prefix)
		}
	}
	return percent
}
