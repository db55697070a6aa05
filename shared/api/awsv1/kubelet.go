package awsv1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// KubeletConfiguration is a KubeletConfiguration of kubelet.config.k8s.io/v1beta1 as it was written: any JSON object. The
// CRD looks no further, since the fields a kubelet knows change with Kubernetes and not with this API.
//
// +kubebuilder:validation:Type=object
// +kubebuilder:pruning:PreserveUnknownFields
type KubeletConfiguration struct {
	// Raw is the JSON of the object; nil stands for an empty one.
	Raw []byte `json:"-"`
}

// MarshalJSON writes the object as it was read.
func (k KubeletConfiguration) MarshalJSON() ([]byte, error) {
	if len(k.Raw) == 0 {
		return []byte("{}"), nil
	}
	return k.Raw, nil
}

// UnmarshalJSON keeps a copy of the object; null leaves it unchanged.
func (k *KubeletConfiguration) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return errors.New("read kubelet configuration: want an object")
	}
	k.Raw = bytes.Clone(data)
	return nil
}

// Canonical returns the JSON of the object with sorted keys and without spaces, so that equal objects are equal bytes;
// "{}" for nil.
func (k *KubeletConfiguration) Canonical() ([]byte, error) {
	if k == nil || len(k.Raw) == 0 {
		return []byte("{}"), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(k.Raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("read kubelet configuration: %w", err)
	}
	return json.Marshal(object)
}

// Decode reads the object into out, which names the fields the caller understands; others are left alone.
func (k *KubeletConfiguration) Decode(out any) error {
	if k == nil || len(k.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(k.Raw, out); err != nil {
		return fmt.Errorf("read kubelet configuration: %w", err)
	}
	return nil
}
