package catalog

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed families.txt
var familiesText string

//go:embed ladders.txt
var laddersText string

//go:embed types.txt
var typesText string

// parse reads the three tables. They are part of the program, so anything wrong
// in them is a broken invariant: it panics, naming the line.
func parse(families, ladders, types string) []Type {
	steps := ladderSteps{}
	for _, row := range rows(ladders) {
		for _, step := range strings.Fields(row["steps"]) {
			size, value := cut(step, "=")
			steps[row["kind"]+"/"+row["name"]+"/"+size] = value
		}
	}
	var out []Type
	for _, row := range rows(families) {
		for _, token := range strings.Fields(row["sizes"]) {
			out = append(out, regular(row, token, steps))
		}
	}
	for _, row := range rows(types) {
		out = append(out, irregular(row))
	}
	return out
}

// regular builds the type of one size of a family. The size token is
//
//	NAME[=VCPUS][:DISKS][*…][$USD]
//
// where VCPUS is given when the name does not imply it, each star is an EFA
// interface, and USD is given when the price is not proportional to the vCPUs.
func regular(row map[string]string, token string, steps ladderSteps) Type {
	rest, usd, priced := strings.Cut(token, "$")
	rest, efa := strings.TrimRight(rest, "*"), strings.Count(rest, "*")
	rest, disks, _ := strings.Cut(rest, ":")
	size, vcpus, explicit := strings.Cut(rest, "=")

	t := base(row, row["family"], size)
	t.VCPUs = sizeVCPUs(size)
	if explicit {
		t.VCPUs = number(vcpus)
	}
	t.MemoryMiB = int64(number(row["mib"])) * int64(t.VCPUs)
	t.OnDemandMicroUSDPerHour = int64(number(row["microusd"])) * int64(t.VCPUs)
	if priced {
		t.OnDemandMicroUSDPerHour = int64(decimal(usd)*1e6 + 0.5)
	}
	t.EFAInterfaces = efa
	t.Disks = parseDisks(disks)
	if strings.HasPrefix(size, "metal") {
		t.BareMetal, t.Hypervisor, t.NestedVirtualization = true, "", false
	}
	// Nitro Enclaves need a whole core for the parent: two vCPUs on Graviton, four elsewhere.
	enough := t.VCPUs >= 4 || t.VCPUs >= 2 && t.Architecture == ARM64
	t.NitroEnclaves = t.NitroEnclaves && enough && !t.BareMetal

	t.setInterfaces(steps.at("eni", row["eni"], size))
	t.setNetwork(steps.at("net", row["net"], size))
	t.setEBS(steps.at("ebs", row["ebs"], size))
	return t
}

func irregular(row map[string]string) Type {
	family, size := cut(row["type"], ".")
	t := base(row, family, size)
	t.VCPUs = number(row["vcpus"])
	t.MemoryMiB = int64(number(row["mib"]))
	t.OnDemandMicroUSDPerHour = int64(number(row["microusd"]))
	t.EFAInterfaces = number(row["efa"])
	t.Disks = parseDisks(row["disks"])
	t.setInterfaces(row["eni"])
	t.setNetwork(row["net"])
	t.setEBS(row["ebs"])
	t.setAccelerator(row["accelerator"])
	return t
}

// base fills what both tables say in the same columns. Flags: b burstable,
// c cluster placement, e encryption in transit, m bare metal, n Nitro Enclaves,
// p previous generation, x Xen.
func base(row map[string]string, family, size string) Type {
	t := Type{
		Name: family + "." + size, Family: family, Size: size,
		Architecture:   X86_64,
		ClockGHz:       decimal(row["ghz"]),
		ThreadsPerCore: number(row["threads"]),
		NetworkCards:   1,
		Hypervisor:     "nitro",
	}
	switch row["cpu"] {
	case "intel":
		t.Manufacturer = "Intel"
	case "amd":
		t.Manufacturer = "AMD"
	case "aws":
		t.Manufacturer, t.Architecture = "AWS", ARM64
	default:
		panic(fmt.Sprintf("catalog: %s: unknown cpu %q", t.Name, row["cpu"]))
	}
	for _, letter := range row["zones"] {
		t.Zones = append(t.Zones, Region+string(letter))
	}
	flag := func(letter string) bool { return strings.Contains(row["flags"], letter) }
	t.Burstable = flag("b")
	t.ClusterPlacement = flag("c")
	t.EncryptionInTransit = flag("e")
	t.NitroEnclaves = flag("n")
	t.PreviousGeneration = flag("p")
	t.NestedVirtualization = flag("v")
	t.CapacityBlocks = flag("k")
	t.NoSpot = flag("o")
	t.ENA = !flag("a")
	if flag("x") {
		t.Hypervisor = "xen"
	}
	if flag("m") {
		t.BareMetal, t.Hypervisor = true, ""
	}
	return t
}

// setInterfaces reads "3x10": interfaces, addresses on each.
func (t *Type) setInterfaces(s string) {
	n, per := cut(s, "x")
	t.InterfacesPerCard, t.IPv4PerInterface = number(n), number(per)
}

// setNetwork reads "0.75/10", baseline and peak in Gbps, or one number for both,
// with "x4" behind it for four network cards, and "=400" where the whole machine
// has another bandwidth than its cards together.
func (t *Type) setNetwork(s string) {
	s, whole, other := strings.Cut(s, "=")
	if other {
		t.NetworkGbps = decimal(whole)
	}
	s, cards, many := strings.Cut(s, "x")
	if many {
		t.NetworkCards = number(cards)
	}
	baseline, peak, burst := strings.Cut(s, "/")
	t.NetworkBaselineGbps = decimal(baseline)
	t.NetworkPeakGbps = t.NetworkBaselineGbps
	if burst {
		t.NetworkPeakGbps = decimal(peak)
	}
}

// setEBS reads "650/4750", baseline and maximum in Mbps, or one number for both.
func (t *Type) setEBS(s string) {
	baseline, maximum, burst := strings.Cut(s, "/")
	t.EBSBaselineMbps = number(baseline)
	t.EBSMaximumMbps = t.EBSBaselineMbps
	if burst {
		t.EBSMaximumMbps = number(maximum)
	}
}

// setAccelerator reads "gpu:MAKER:NAME:COUNT:MIB", or
// "neuron:AWS:NAME:COUNT:MIB:CORES:VERSION", or "-". An underscore in a name is a space.
func (t *Type) setAccelerator(s string) {
	if s == "-" {
		return
	}
	f := strings.Split(s, ":")
	name := strings.ReplaceAll(f[2], "_", " ")
	count, mib := number(f[3]), int64(number(f[4]))
	switch f[0] {
	case "gpu":
		t.GPU = &GPU{Manufacturer: f[1], Name: name, Count: count, MemoryMiB: mib}
	case "neuron":
		t.Neuron = &Neuron{Name: name, Count: count, MemoryMiB: mib,
			CoresPerDevice: number(f[5]), CoreVersion: number(f[6])}
	default:
		panic(fmt.Sprintf("catalog: %s: unknown accelerator %q", t.Name, s))
	}
}

// parseDisks reads "2x900", or "2x900hdd" for disks that spin, or "" or "-" for none.
func parseDisks(s string) Disks {
	if s == "" || s == "-" {
		return Disks{}
	}
	kind := "ssd"
	if rest, spins := strings.CutSuffix(s, "hdd"); spins {
		s, kind = rest, "hdd"
	}
	count, size := cut(s, "x")
	return Disks{Count: number(count), SizeGB: number(size), Kind: kind}
}

// sizeVCPUs returns the vCPUs a size name implies in the regular families, 0
// when it implies none.
func sizeVCPUs(size string) int {
	switch size {
	case "medium":
		return 1
	case "large":
		return 2
	case "xlarge":
		return 4
	}
	size = strings.TrimPrefix(size, "metal-")
	if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(size, "arge"), "xl")); err == nil {
		return 4 * n
	}
	return 0
}

// ladderSteps maps "kind/ladder/size" to the value of that step.
type ladderSteps map[string]string

func (l ladderSteps) at(kind, ladder, size string) string {
	value, ok := l[kind+"/"+ladder+"/"+size]
	if !ok {
		panic(fmt.Sprintf("catalog: ladder %s %s has no step %s", kind, ladder, size))
	}
	return value
}

// rows splits a table into its rows, keyed by the names in its first line. The
// last column takes the rest of the line. Empty lines and lines that start with
// # are skipped.
func rows(text string) []map[string]string {
	var head []string
	var out []map[string]string
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if head == nil {
			head = strings.Fields(line)
			continue
		}
		row := map[string]string{}
		rest := line
		for i, name := range head {
			rest = strings.TrimLeft(rest, " ")
			end := strings.IndexByte(rest, ' ')
			if i == len(head)-1 || end < 0 {
				end = len(rest)
			}
			row[name], rest = rest[:end], rest[end:]
		}
		out = append(out, row)
	}
	return out
}

func cut(s, sep string) (before, after string) {
	before, after, ok := strings.Cut(s, sep)
	if !ok {
		panic(fmt.Sprintf("catalog: %q has no %q", s, sep))
	}
	return before, after
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	return n
}

func decimal(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	return f
}
