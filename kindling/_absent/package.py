"""Names of torch.package, written by tools/surface.py."""
TABLE = r"""
package/ Directory@package.file_structure_representation EmptyMatchError@package.package_exporter GlobGroup@package.glob_group Importer@package.importer ObjMismatchError@package.importer ObjNotFoundError@package.importer OrderedImporter@package.importer PackageExporter@package.package_exporter PackageImporter@package.package_importer PackagingError@package.package_exporter is_from_package@package.analyze.is_from_package sys_importer@package.importer
package._mangling is_mangled()
package.analyze/ find_first_use_of_broken_modules@package.analyze.find_first_use_of_broken_modules trace_dependencies@package.analyze.trace_dependencies
package.analyze.find_first_use_of_broken_modules find_first_use_of_broken_modules()
package.analyze.is_from_package is_from_package() is_mangled@package._mangling
package.analyze.trace_dependencies trace_dependencies()
package.file_structure_representation Directory:has_file
package.find_file_dependencies find_files_source_depends_on()
package.glob_group GlobGroup:matches
package.importer Importer:get_name,import_module,whichmodule ObjMismatchError!(Exception) ObjNotFoundError!(Exception) OrderedImporter(package.importer:Importer):get_name,import_module,whichmodule sys_importer?
package.package_exporter EmptyMatchError!(Exception) PackageExporter:add_dependency,all_paths,close,denied_modules,deny,dependency_graph_string,extern,externed_modules,get_rdeps,get_unique_id,intern,interned_modules,mock,mocked_modules,register_extern_hook,register_intern_hook,register_mock_hook,save_binary,save_module,save_pickle,save_source_file,save_source_string,save_text PackagingError!(Exception) PackagingErrorReason{IS_EXTENSION_MODULE=0;NO_DUNDER_FILE=1;SOURCE_FILE_NOT_FOUND=2;DEPENDENCY_RESOLUTION_FAILED=3;NO_ACTION=4;DENIED=5;MOCKED_BUT_STILL_USED=6}
package.package_importer PackageImporter(package.importer:Importer):file_structure,get_resource_reader,get_source,id,import_module,load_binary,load_pickle,load_text,python_version
"""  # noqa: E501
