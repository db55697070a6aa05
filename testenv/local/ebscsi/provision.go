package ebscsi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	gibibyte = 1 << 30
	// fileSystem is what a volume is formatted with where its class does not say.
	fileSystem = "ext4"
	// secretName and secretNamespace are annotations of a PersistentVolume. They are empty: the driver needs no secret to delete a volume.
	secretName      = "volume.kubernetes.io/provisioner-deletion-secret-name"
	secretNamespace = "volume.kubernetes.io/provisioner-deletion-secret-namespace"
	// identity is an attribute of a volume that names who made it.
	identity = "storage.kubernetes.io/csiProvisionerIdentity"
)

// Provision makes a volume for a claim and returns its PersistentVolume. It implements controller.Provisioner.
func (d *Driver) Provision(ctx context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if o.PVC.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("claim Selector is not supported")
	}
	if o.PVC.Spec.DataSource != nil || o.PVC.Spec.DataSourceRef != nil {
		return nil, controller.ProvisioningFinished, errors.New("snapshots and clones are not modeled")
	}
	spec, err := specOf(o)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	zone, state, err := d.zoneOf(o)
	if err != nil {
		return nil, state, err
	}
	spec.zone = zone
	id, err := d.cloud.create(ctx, spec)
	if err != nil {
		return nil, controller.ProvisioningInBackground, fmt.Errorf("create volume %q: %w", o.PVName, err)
	}
	block := o.PVC.Spec.VolumeMode != nil && *o.PVC.Spec.VolumeMode == corev1.PersistentVolumeBlock
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName, Annotations: map[string]string{secretName: "", secretNamespace: ""}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: o.PVC.Spec.AccessModes, MountOptions: o.StorageClass.MountOptions, VolumeMode: o.PVC.Spec.VolumeMode,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(int64(spec.sizeGiB)*gibibyte, resource.BinarySI)},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: Name, VolumeHandle: id, FSType: spec.fileSystem, VolumeAttributes: map[string]string{identity: "testenv-" + Name},
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		},
	}
	if block {
		volume.Spec.CSI.FSType = ""
	}
	if policy := o.StorageClass.ReclaimPolicy; policy != nil {
		volume.Spec.PersistentVolumeReclaimPolicy = *policy
	}
	return volume, controller.ProvisioningFinished, nil
}

// Delete deletes the volume of a PersistentVolume that nothing attaches any more. It implements controller.Provisioner.
func (d *Driver) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.CSI == nil {
		return fmt.Errorf("PersistentVolume %s is of no CSI driver", volume.Name)
	}
	attachments, err := d.attachments.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, a := range attachments {
		if name := a.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
			return fmt.Errorf("PersistentVolume %s is still attached to node %s", volume.Name, a.Spec.NodeName)
		}
	}
	return d.cloud.delete(ctx, volume.Spec.CSI.VolumeHandle)
}

// SupportsBlock reports that volumes without a file system can be made. It implements controller.BlockProvisioner.
func (d *Driver) SupportsBlock(context.Context) bool { return true }

// volumeSpec is the volume a claim asks for.
type volumeSpec struct {
	name, zone, kind, fileSystem string
	sizeGiB, iops, throughput    int32
	encrypted                    bool
	key                          string // "" for the account's own
	claim, namespace             string
}

// specOf reads a claim and its class. Sizes are rounded up to whole GiB.
func specOf(o controller.ProvisionOptions) (volumeSpec, error) {
	size := o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	spec := volumeSpec{
		name: o.PVName, kind: "gp3", fileSystem: fileSystem, sizeGiB: int32((size.Value() + gibibyte - 1) / gibibyte), claim: o.PVC.Name, namespace: o.PVC.Namespace,
	}
	for key, value := range o.StorageClass.Parameters {
		var err error
		switch strings.ToLower(key) {
		case "type":
			spec.kind = value
		case "iops":
			spec.iops, err = number(value)
		case "throughput":
			spec.throughput, err = number(value)
		case "encrypted":
			spec.encrypted = value == "true"
		case "kmskeyid":
			spec.key = value
		case "csi.storage.k8s.io/fstype", "fstype":
			spec.fileSystem = value
		default:
			err = errors.New("it is not modeled")
		}
		if err != nil {
			return volumeSpec{}, fmt.Errorf("parameter %s of StorageClass %s: %w", key, o.StorageClass.Name, err)
		}
	}
	return spec, nil
}

func number(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err
}
