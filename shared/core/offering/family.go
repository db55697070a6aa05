package offering

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// family is what an image family changes about an instance's room.
type family struct {
	windows       bool
	build         string // value of the Windows build label
	unlimitedENIs bool   // pod density does not follow network interfaces
	ignoresCores  bool   // podsPerCore has no effect
	reservesFor   bool   // kube-reserved follows the resolved pod count instead of what the interfaces could carry
	joinsDisks    bool   // instanceStorePolicy is carried out
	ephemeral     string // device that holds pods' ephemeral storage; empty = the last of the list
	ephemeralGiB  int64  // its size where the class does not say
}

func familyOf(class *model.Class) family {
	switch class.Family {
	case "Bottlerocket":
		return family{ignoresCores: true, reservesFor: true, joinsDisks: true, ephemeral: "/dev/xvdb", ephemeralGiB: 20}
	case "Custom":
		return family{ephemeralGiB: 20}
	case "Windows2019":
		return windows("10.0.17763")
	case "Windows2022":
		return windows("10.0.20348")
	case "Windows2025":
		return windows("10.0.26100")
	}
	if strings.HasPrefix(class.Family, "Windows") {
		return windows("")
	}
	return family{joinsDisks: true, ephemeral: "/dev/xvda", ephemeralGiB: 20}
}

func windows(build string) family {
	return family{windows: true, build: build, unlimitedENIs: true, reservesFor: true, ephemeral: "/dev/sda1", ephemeralGiB: 50}
}
