package awsv1

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzEC2NodeClass: a class that can be read has a family and a hash, or a kubelet configuration that says why not, and
// reads back the same.
func FuzzEC2NodeClass(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a"},"spec":{"amiSelectorTerms":[{"alias":"al2023@latest"}],"kubelet":{"maxPods":5,"evictionHard":{"memory.available":"5%"}},"blockDeviceMappings":[{"deviceName":"/dev/xvda","ebs":{"volumeSize":"20Gi","encrypted":true}}],"tags":{"a":"b"},"role":"r"}}`))
	f.Add([]byte(`{"spec":{"amiFamily":"Windows2022","amiSelectorTerms":[{"alias":"@"},{"alias":"bottlerocket@1.2.3"}],"kubelet":{}}}`))
	f.Add([]byte(`{"spec":{"kubelet":{"a":1e400}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			var class EC2NodeClass
			if json.Unmarshal(data, &class) != nil {
				return
			}
			_ = class.AMIFamily()
			_, _ = class.Alias()
			hash, hashErr := class.Hash("ca")
			canonical, err := class.Spec.Kubelet.Canonical()
			if (err == nil) != (hashErr == nil) {
				t.Fatalf("the kubelet configuration: %v; the hash: %v", err, hashErr)
			}
			var fields map[string]json.RawMessage
			_ = class.Spec.Kubelet.Decode(&fields)
			written, err := json.Marshal(&class)
			if err != nil || hashErr != nil {
				return
			}
			var again EC2NodeClass
			if err := json.Unmarshal(written, &again); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, written)
			}
			if other, err := again.Hash("ca"); err != nil || other != hash {
				t.Errorf("read back its hash is %s (%v), was %s", other, err, hash)
			}
			if other, err := again.Spec.Kubelet.Canonical(); err != nil || !bytes.Equal(other, canonical) {
				t.Errorf("read back its kubelet configuration is %s (%v), was %s", other, err, canonical)
			}
		})
	})
}
