package userdata

import (
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxBytes is what EC2 accepts, before encoding. Source: EC2 user guide, "Run commands when you launch an instance".
const MaxBytes = 16384

// Render returns the bytes the instance reads, not encoded. Invalid where the family is not known, something needed is
// missing, something asked for cannot be said to instances of the family, or the result is larger than MaxBytes.
func Render(in Input) ([]byte, error) {
	text, err := renderFamily(in)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fault.New(fault.Invalid, "UserDataSizeLimitExceeded",
			"user data of EC2NodeClass %s is %d bytes and EC2 takes %d; shorten spec.userData (now %d bytes)",
			in.Class.Name, len(text), MaxBytes, len(in.Class.UserData))
	}
	return text, nil
}

func renderFamily(in Input) ([]byte, error) {
	if err := storePolicy(in.Class); err != nil {
		return nil, err
	}
	switch in.Class.Family {
	case "AL2":
		return renderAL2(in)
	case "AL2023":
		return renderAL2023(in)
	case "Bottlerocket":
		return renderBottlerocket(in)
	case "Windows2019", "Windows2022", "Windows2025":
		return renderWindows(in)
	case "Custom":
		return renderCustom(in)
	}
	return nil, fault.New(fault.Invalid, "UnsupportedFamily",
		"spec.amiFamily %q of EC2NodeClass %s is not known; use AL2, AL2023, Bottlerocket, Windows2019, Windows2022, Windows2025, or Custom with user data of your own",
		in.Class.Family, in.Class.Name)
}

// storePolicy refuses an instance store policy that nothing on the instance would carry out: planning would count on an
// array that nobody makes.
func storePolicy(class model.Class) error {
	switch {
	case class.InstanceStorePolicy == "":
		return nil
	case class.InstanceStorePolicy != raid0:
		return fault.New(fault.Invalid, "UnsupportedInstanceStorePolicy",
			"spec.instanceStorePolicy %q of EC2NodeClass %s is not known; use RAID0, or remove it", class.InstanceStorePolicy, class.Name)
	case class.Family == "AL2" || class.Family == "AL2023" || class.Family == "Bottlerocket":
		return nil
	}
	return fault.New(fault.Invalid, "UnsupportedInstanceStorePolicy",
		"spec.instanceStorePolicy RAID0 of EC2NodeClass %s is set up on AL2, AL2023 and Bottlerocket only, not with amiFamily %s; remove it, and mount the disks in spec.userData",
		class.Name, class.Family)
}
