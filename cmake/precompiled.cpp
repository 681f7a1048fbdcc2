// This file is empty. Its targets build the precompiled headers that many sources share: see TenonTargets.cmake.
