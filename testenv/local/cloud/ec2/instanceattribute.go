package ec2

import (
	"cmp"
	"context"
	"encoding/base64"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeInstanceAttributeInput struct {
	InstanceID string `query:"InstanceId"`
	Attribute  string
}

// attributeOutput has the one attribute that was asked for; the others are nil and not written.
type attributeOutput struct {
	InstanceID            string                `xml:"instanceId"`
	InstanceType          *textValue            `xml:"instanceType"`
	Kernel                *textValue            `xml:"kernel"`
	Ramdisk               *textValue            `xml:"ramdisk"`
	UserData              *textValue            `xml:"userData"`
	DisableAPITermination *boolValue            `xml:"disableApiTermination"`
	DisableAPIStop        *boolValue            `xml:"disableApiStop"`
	ShutdownBehavior      *textValue            `xml:"instanceInitiatedShutdownBehavior"`
	RootDeviceName        *textValue            `xml:"rootDeviceName"`
	Volumes               *wire.Set[volumeView] `xml:"blockDeviceMapping"`
	ProductCodes          *wire.Set[textValue]  `xml:"productCodes"`
	SourceDestCheck       *boolValue            `xml:"sourceDestCheck"`
	Groups                *wire.Set[groupRef]   `xml:"groupSet"`
	EBSOptimized          *boolValue            `xml:"ebsOptimized"`
	SRIOVNetSupport       *textValue            `xml:"sriovNetSupport"`
	Enclave               *enclaveView          `xml:"enclaveOptions"`
}

// textValue is a value that may be missing: its element is empty then.
type textValue struct {
	Value string `xml:"value,omitempty"`
}

type boolValue struct {
	Value bool `xml:"value"`
}

type enclaveView struct {
	Enabled bool `xml:"enabled"`
}

// describeInstanceAttribute tells one attribute of an instance, in whatever state that is.
func (m *Model) describeInstanceAttribute(_ context.Context, in *describeInstanceAttributeInput) (*attributeOutput, error) {
	m.lock()
	defer m.unlock()
	if in.InstanceID == "" || in.Attribute == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameters instanceId and attribute")
	}
	found, err := m.findInstances([]string{in.InstanceID})
	if err != nil {
		return nil, err
	}
	i := found[0]
	out := &attributeOutput{InstanceID: i.facts.ID}
	switch view := m.viewInstance(i); in.Attribute {
	case "instanceType":
		out.InstanceType = &textValue{i.facts.Type}
	case "kernel":
		out.Kernel = &textValue{}
	case "ramdisk":
		out.Ramdisk = &textValue{}
	case "userData":
		out.UserData = &textValue{base64.StdEncoding.EncodeToString(i.facts.UserData)}
	case "disableApiTermination":
		out.DisableAPITermination = &boolValue{value(i.data.DisableAPITermination)}
	case "disableApiStop":
		out.DisableAPIStop = &boolValue{value(i.data.DisableAPIStop)}
	case "instanceInitiatedShutdownBehavior":
		out.ShutdownBehavior = &textValue{cmp.Or(i.data.ShutdownBehavior, "stop")}
	case "rootDeviceName":
		out.RootDeviceName = &textValue{i.image.RootDevice}
	case "blockDeviceMapping":
		out.Volumes = &view.Volumes
	case "productCodes":
		out.ProductCodes = &wire.Set[textValue]{}
	case "sourceDestCheck":
		out.SourceDestCheck = &boolValue{view.SourceDestCheck}
	case "groupSet":
		out.Groups = &view.Groups
	case "ebsOptimized":
		out.EBSOptimized = &boolValue{view.EBSOptimized}
	case "sriovNetSupport":
		out.SRIOVNetSupport = &textValue{"simple"}
	case "enclaveOptions":
		out.Enclave = &enclaveView{view.EnclaveEnabled}
	default: // enaSupport cannot be asked for, as the API reference says
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter attribute is invalid. Unknown attribute.", in.Attribute)
	}
	return out, nil
}
