package awsv1

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/api/condition"
)

func ptr[T any](v T) *T { return &v }

func TestParseAlias(t *testing.T) {
	tests := map[string]Alias{
		"al2@latest":           {FamilyAL2, "latest"},
		"al2023@v20250212":     {FamilyAL2023, "v20250212"},
		"bottlerocket@v1.40.0": {FamilyBottlerocket, "v1.40.0"},
		"windows2025@latest":   {FamilyWindows2025, "latest"},
	}
	for text, want := range tests {
		if got, ok := ParseAlias(text); !ok || got != want {
			t.Errorf("ParseAlias(%q) = %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "al2023", "al2023@", "@latest", "AL2023@latest", "custom@latest", "ubuntu@latest"} {
		if got, ok := ParseAlias(text); ok {
			t.Errorf("ParseAlias(%q) = %v, want none", text, got)
		}
	}
}

func TestFamilyIsNamedElseOfTheAliasElseCustom(t *testing.T) {
	tests := []struct {
		name   string
		family *AMIFamily
		terms  []AMISelectorTerm
		want   AMIFamily
	}{
		{"named", ptr(FamilyBottlerocket), []AMISelectorTerm{{ID: "ami-1"}}, FamilyBottlerocket},
		{"named beside an alias", ptr(FamilyCustom), []AMISelectorTerm{{Alias: "al2023@latest"}}, FamilyCustom},
		{"of the alias", nil, []AMISelectorTerm{{Alias: "windows2022@latest"}}, FamilyWindows2022},
		{"neither", nil, []AMISelectorTerm{{ID: "ami-1"}}, FamilyCustom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := &EC2NodeClass{Spec: EC2NodeClassSpec{AMIFamily: tt.family, AMISelectorTerms: tt.terms}}
			if got := class.AMIFamily(); got != tt.want {
				t.Errorf("AMIFamily() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestKubeletIsKeptAsWritten(t *testing.T) {
	const text = `{"maxPods": "vcpus * 10", "registryPullQPS": 5, "z": {"b": 1, "a": 9007199254740993}}`
	var spec struct {
		Kubelet *KubeletConfiguration `json:"kubelet"`
	}
	if err := json.Unmarshal([]byte(`{"kubelet": `+text+`}`), &spec); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(spec.Kubelet)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back, compact.Bytes()) {
		t.Errorf("written as %s, want %s", back, compact.Bytes())
	}
	canonical, err := spec.Kubelet.Canonical()
	if want := `{"maxPods":"vcpus * 10","registryPullQPS":5,"z":{"a":9007199254740993,"b":1}}`; err != nil || string(canonical) != want {
		t.Errorf("Canonical() = %s, %v; want %s", canonical, err, want)
	}
	var fields struct {
		RegistryPullQPS int `json:"registryPullQPS"`
	}
	if err := spec.Kubelet.Decode(&fields); err != nil || fields.RegistryPullQPS != 5 {
		t.Errorf("Decode gives %+v, %v; want 5", fields, err)
	}
}

func TestKubeletOfAnotherFormIsRefused(t *testing.T) {
	for _, text := range []string{`[]`, `"a"`, `5`, `true`} {
		var k KubeletConfiguration
		if err := json.Unmarshal([]byte(text), &k); err == nil {
			t.Errorf("%s is read as %s, want an error", text, k.Raw)
		}
	}
	var none *KubeletConfiguration
	if text, err := none.Canonical(); err != nil || string(text) != "{}" {
		t.Errorf("Canonical() of none = %s, %v; want {}", text, err)
	}
}

func hashedClass() *EC2NodeClass {
	return &EC2NodeClass{Spec: EC2NodeClassSpec{
		Role:             "node",
		AMISelectorTerms: []AMISelectorTerm{{Alias: "al2023@latest"}},
		Tags:             map[string]string{"a": "b", "c": "d"},
		UserData:         ptr("#!/bin/sh"),
		Kubelet:          &KubeletConfiguration{Raw: []byte(`{"maxPods":10,"podsPerCore":2}`)},
		BlockDeviceMappings: []BlockDeviceMapping{
			{DeviceName: ptr("/dev/xvda"), EBS: &BlockDevice{VolumeSize: ptr(resource.MustParse("1Ti"))}},
			{DeviceName: ptr("/dev/xvdb"), EBS: &BlockDevice{SnapshotID: ptr("snap-1")}},
		},
		MetadataOptions: &MetadataOptions{HTTPTokens: ptr("required"), HTTPPutResponseHopLimit: ptr(int64(1))},
	}}
}

// NC-26: the hash follows what an instance is launched with, and neither order nor spelling nor selectors.
func TestNC26ClassHashChangesWithTheInstanceOnly(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*EC2NodeClassSpec)
		drifted bool
	}{
		{"user data", func(s *EC2NodeClassSpec) { s.UserData = ptr("#!/bin/bash") }, true},
		{"role", func(s *EC2NodeClassSpec) { s.Role = "other" }, true},
		{"profile instead of role", func(s *EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", ptr("node") }, true},
		{"context", func(s *EC2NodeClassSpec) { s.Context = ptr("a") }, true},
		{"connection tracking", func(s *EC2NodeClassSpec) { s.ConnectionTracking = &ConnectionTracking{UDPTimeout: ptr(int32(30))} }, true},
		{"tag", func(s *EC2NodeClassSpec) { s.Tags["a"] = "c" }, true},
		{"size of a volume", func(s *EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = ptr(resource.MustParse("2Ti"))
		}, true},
		{"root volume", func(s *EC2NodeClassSpec) { s.BlockDeviceMappings[1].RootVolume = true }, true},
		{"family", func(s *EC2NodeClassSpec) { s.AMIFamily = ptr(FamilyCustom) }, true},
		{"kubelet", func(s *EC2NodeClassSpec) { s.Kubelet.Raw = []byte(`{"maxPods":11,"podsPerCore":2}`) }, true},
		{"metadata", func(s *EC2NodeClassSpec) { s.MetadataOptions.HTTPTokens = ptr("optional") }, true},
		{"nested virtualization", func(s *EC2NodeClassSpec) { s.CPUOptions = &CPUOptions{NestedVirtualization: ptr("enabled")} }, true},
		{"network interfaces", func(s *EC2NodeClassSpec) {
			s.NetworkInterfaces = []NetworkInterface{{InterfaceType: InterfaceTypeInterface}}
		}, true},
		{"instance store", func(s *EC2NodeClassSpec) { s.InstanceStorePolicy = ptr(InstanceStorePolicyRAID0) }, true},
		{"placement group", func(s *EC2NodeClassSpec) { s.PlacementGroupSelector = &PlacementGroupSelector{Name: "a"} }, true},
		{"monitoring", func(s *EC2NodeClassSpec) { s.DetailedMonitoring = ptr(true) }, true},
		{"public address", func(s *EC2NodeClassSpec) { s.AssociatePublicIPAddress = ptr(true) }, true},

		{"order of block devices", func(s *EC2NodeClassSpec) {
			s.BlockDeviceMappings[0], s.BlockDeviceMappings[1] = s.BlockDeviceMappings[1], s.BlockDeviceMappings[0]
		}, false},
		{"spelling of a size", func(s *EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = ptr(resource.MustParse("1024Gi"))
		}, false},
		{"order of kubelet fields", func(s *EC2NodeClassSpec) { s.Kubelet.Raw = []byte(`{ "podsPerCore": 2, "maxPods": 10 }`) }, false},
		{"family of the alias spelled out", func(s *EC2NodeClassSpec) { s.AMIFamily = ptr(FamilyAL2023) }, false},
		{"subnets", func(s *EC2NodeClassSpec) { s.SubnetSelectorTerms = []SubnetSelectorTerm{{ID: "subnet-1"}} }, false},
		{"groups", func(s *EC2NodeClassSpec) { s.SecurityGroupSelectorTerms = []SecurityGroupSelectorTerm{{ID: "sg-1"}} }, false},
		{"version of the alias", func(s *EC2NodeClassSpec) { s.AMISelectorTerms[0].Alias = "al2023@v20250212" }, false},
		{"reservations", func(s *EC2NodeClassSpec) {
			s.CapacityReservationSelectorTerms = []CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}, false},
		{"prefixes", func(s *EC2NodeClassSpec) { s.IPPrefixCount = ptr(int32(1)) }, false},
	}
	before := hashOf(t, hashedClass(), "CA")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := hashedClass()
			tt.change(&class.Spec)
			if after := hashOf(t, class, "CA"); (after != before) != tt.drifted {
				t.Errorf("hash %s, before %s; want a change: %v", after, before, tt.drifted)
			}
		})
	}
	if hashOf(t, hashedClass(), "other CA") == before {
		t.Error("another certificate authority leaves the hash as it was")
	}
}

// Hashes are stored in clusters: this one may change only together with EC2NodeClassHashVersion.
func TestClassHashOfThisVersionStays(t *testing.T) {
	const want = "16834578689998362881"
	if got := hashOf(t, hashedClass(), "CA"); got != want || EC2NodeClassHashVersion != "joiner-v1" {
		t.Errorf("hash %s of version %s, want %s of joiner-v1", got, EC2NodeClassHashVersion, want)
	}
}

func hashOf(t *testing.T, class *EC2NodeClass, caBundle string) string {
	t.Helper()
	got, err := class.Hash(caBundle)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestHashOfABrokenKubeletIsAnError(t *testing.T) {
	class := hashedClass()
	class.Spec.Kubelet.Raw = []byte("{")
	if got, err := class.Hash(""); err == nil {
		t.Errorf("Hash() = %s, want an error", got)
	}
}

func TestNC21ClassIsReadyWhenAllOfItsConditionsAre(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if _, err := scheme.New(GroupVersion.WithKind(KindEC2NodeClass)); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, reserved := range []bool{false, true} {
		class := &EC2NodeClass{}
		set := Conditions(reserved).For(class, now)
		for _, dependent := range Conditions(reserved).Dependents {
			if set.IsTrue(condition.Ready) {
				t.Errorf("ready before %s is", dependent)
			}
			set.SetTrue(dependent)
		}
		if !set.IsTrue(condition.Ready) {
			t.Errorf("not ready: %+v", set.Get(condition.Ready))
		}
	}
}
